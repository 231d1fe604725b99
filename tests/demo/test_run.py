import io
import lzma
from contextlib import nullcontext
from importlib.resources import files
from pathlib import Path

import pytest

from trimtab.checkpoint.resolve import resolve_checkpoint
from trimtab.config.load import load_recipe
from trimtab.demo import run
from trimtab.progress import Silent

DATA = files("trimtab.demo") / "data"


def pairs(name):
    lines = lzma.decompress((DATA / f"{name}.tsv.xz").read_bytes()).decode().split("\n")[:-1]
    return [tuple(line.split("\t")) for line in lines]


def test_the_sample_is_small_real_and_split():
    assert (
        sum(len((DATA / f"{name}.tsv.xz").read_bytes()) for name in ("train", "valid", "heldout"))
        <= 2_000_000
    )
    train, valid, heldout = pairs("train"), pairs("valid"), pairs("heldout")
    assert len(heldout) >= 300
    sources = {source.lower() for source, _ in train}
    assert not sources & {source.lower() for source, _ in [*valid, *heldout]}
    assert not set(valid) & set(heldout)
    assert (DATA / "LICENSE.MPL-2.0.txt").is_file()
    readme = (DATA / "README.md").read_text()
    assert f"{len(train):,} pairs" in readme
    assert f"{len(heldout)} pairs" in readme


def test_the_recipe_reads_the_sample_for_the_minutes_asked(tmp_path):
    loaded = run.demo_recipe(tmp_path, 2.5)
    assert str(loaded.recipe.length) == "2.5 minutes"
    assert loaded.recipe.data.root == str(tmp_path)


def test_a_folder_that_is_taken_is_left_alone(tmp_path):
    assert run.free_folder(tmp_path / "demo") == tmp_path / "demo"
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo-2").mkdir()
    assert run.free_folder(tmp_path / "demo") == tmp_path / "demo-3"


@pytest.fixture
def small_demo(tmp_path, monkeypatch):
    """The demo on a handful of its lines, with a model of a few thousand parameters."""
    for name, count in (("train", 300), ("valid", 5), ("heldout", 12)):
        text = "".join(f"{source}\t{target}\n" for source, target in pairs(name)[:count])
        (tmp_path / f"{name}.tsv.xz").write_bytes(lzma.compress(text.encode()))

    def recipe(data, minutes):
        changes = [f"data.root={data}", f"length={minutes:g} minutes", "data.tokenizer.vocabulary_size=300"]
        sizes = {"dim": 16, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "feed_forward": 16}
        changes += ["data.max_tokens=64", *(f"model.{key}={value}" for key, value in sizes.items())]
        return load_recipe(str(files("trimtab.demo") / "recipe.yaml"), changes)

    monkeypatch.setattr(run, "sample", lambda: nullcontext(tmp_path))
    monkeypatch.setattr(run, "demo_recipe", recipe)


def test_it_trains_translates_and_reports_beside_two_baselines(small_demo, tmp_path):
    output = io.StringIO()
    report = run.run_demo(tmp_path / "runs" / "demo", 0.01, progress=Silent(), output=output)
    assert list(report.scores) == ["copy the source", "untrained model", "trained model"]
    assert len(report.pairs) == 12
    assert report.training_seconds >= 0.01 * 60
    assert report.render() + "\n" == output.getvalue()
    assert resolve_checkpoint(str(report.run)).step > 0


def test_the_recipe_of_the_demo_is_there_to_be_changed_and_is_the_same():
    shown = load_recipe(Path(__file__).parents[2] / "recipes" / "demo.yaml").recipe
    trained = load_recipe(Path(str(files("trimtab.demo").joinpath("recipe.yaml")))).recipe
    assert shown.data.root == "../src/trimtab/demo/data"
    without_root = shown.data.model_copy(update={"root": trained.data.root})
    assert shown.model_copy(update={"data": without_root}) == trained
