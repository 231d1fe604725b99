import json
from pathlib import Path

import pytest

from tests.lab import recipe_versions
from tests.lab.laboratory import TEXT, written
from trimtab.config.load import load_recipe
from trimtab.errors import InputError
from trimtab.lab import runs as runs_module
from trimtab.lab.runs import RECIPE_VERSION, WEIGHTS, fingerprints, key_of, runs_of
from trimtab.lab.verdict import AGAIN

RECIPE = Path(__file__).parents[2] / "experiments" / "scales" / "tiny.yaml"


@pytest.fixture
def loaded(tmp_path):
    scales = tmp_path / "scales"
    scales.mkdir()
    (scales / "tiny.yaml").write_text(RECIPE.read_text())
    (scales / "other.yaml").write_text(RECIPE.read_text().replace("dim: 32", "dim: 16"))
    return written(tmp_path, expect="better")


@pytest.mark.slow
def test_each_arm_is_run_with_each_seed_and_the_reference_again_with_other_weights(loaded):
    runs = runs_of(loaded)
    assert [(run.arm, run.seed) for run in runs[:4]] == [
        ("plain", 1),
        ("other", 1),
        ("plain", 2),
        ("other", 2),
    ]
    again = [run for run in runs if run.arm == AGAIN]
    assert [run.overrides for run in again] == [
        {"seed": seed + WEIGHTS, "data.seed": seed} for seed in (1, 2, 3, 4, 5)
    ]
    assert len({run.key for run in runs}) == 15
    assert len(runs_of(loaded, seeds=2)) == 6


@pytest.mark.slow
def test_the_same_recipe_in_two_experiments_is_the_same_run(loaded, tmp_path):
    text = TEXT.replace("  other: {step.optimizer.learning_rate: 1.0e-3}", "  other: {model.dropout: 0.2}")
    beside = written(tmp_path, "beside", text, expect="better")
    ours, theirs = ({run.key: run.arm for run in runs_of(each)} for each in (loaded, beside))
    assert {ours[key] for key in ours.keys() & theirs.keys()} == {"plain", AGAIN}


def test_an_arm_may_start_from_another_scale(tmp_path, loaded):
    text = TEXT.replace("{step.optimizer.learning_rate: 1.0e-3}", "{recipe: other, model.dropout: 0.1}")
    runs = runs_of(written(tmp_path, "else", text, expect="better"), seeds=2)
    assert {run.arm: run.recipe.name for run in runs} == {
        "plain": "tiny.yaml", "other": "other.yaml", AGAIN: "tiny.yaml"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arm", "said"),
    [
        ("{step.optimiser.learning_rate: 1}", "arm 'other'"),
        ("{model.dropout: 3}", "arm 'other'"),
        ("{recipe: othr}", "no such scale"),
    ],
)
def test_an_arm_that_gives_no_recipe_is_refused_before_anything_runs(tmp_path, loaded, arm, said):
    text = TEXT.replace("{step.optimizer.learning_rate: 1.0e-3}", arm)
    wrong = written(tmp_path, "wrong", text, expect="better")
    with pytest.raises(InputError, match=said):
        runs_of(wrong)


@pytest.fixture
def corpus(tmp_path):
    """A recipe with a small corpus; calling it loads the recipe with overrides."""
    for name in ("train", "valid"):
        (tmp_path / f"{name}.tsv").write_text("one\teins\ntwo\tzwei\n")
    text = RECIPE.read_text().replace("train.tsv.xz", "train.tsv").replace("valid.tsv.xz", "valid.tsv")
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(text.replace("../../src/trimtab/demo/data", "."))
    return lambda **overrides: load_recipe(recipe, overrides)


def test_a_new_key_of_recipes_leaves_runs_the_same(corpus, monkeypatch):
    """A run is named by what is written: what trimtab fills in may grow."""
    loaded = corpus()
    assert "qk_norm" not in str(loaded.tree)
    before = key_of(loaded)
    grown = type("Grown", (type(loaded.recipe),), {"__annotations__": {"new": int}, "new": 1})
    object.__setattr__(loaded, "recipe", grown.model_validate(loaded.tree))
    assert loaded.recipe.model_dump()["new"] == 1
    assert key_of(loaded) == before


def test_what_is_written_and_what_corpora_contain_make_another_run(corpus, tmp_path, monkeypatch):
    first = key_of(corpus())
    assert key_of(corpus()) == first
    assert key_of(corpus(**{"model.dropout": 0.0})) == first, "what the recipe says already"
    others = [key_of(corpus(seed=7)), key_of(corpus(length="41 steps"))]
    (tmp_path / "train.tsv").write_text("one\teins\ntwo\tzwo\n")
    others.append(key_of(corpus()))
    monkeypatch.setattr(runs_module, "RECIPE_VERSION", runs_module.RECIPE_VERSION + 1)
    others.append(key_of(corpus()))
    assert len({first, *others}) == 5


def test_a_corpus_that_moves_is_the_same_and_one_that_is_missing_is_named(corpus, tmp_path):
    first = key_of(corpus())
    (tmp_path / "elsewhere").mkdir()
    for name in ("train.tsv", "valid.tsv"):
        (tmp_path / name).rename(tmp_path / "elsewhere" / name)
    assert key_of(corpus(**{"data.root": str(tmp_path / "elsewhere")})) == first
    missing = fingerprints(corpus())
    assert missing == {"data.train.0": ["train.tsv"], "data.valid.prose": ["valid.tsv"]}


def test_the_files_of_a_folder_and_of_a_tokenizer_count(corpus, tmp_path):
    (tmp_path / "pieces.model").write_bytes(b"pieces")
    with_tokenizer = {"data.tokenizer": {"kind": "sentencepiece", "path": "pieces.model"}}
    assert len(fingerprints(corpus(**with_tokenizer))["data.tokenizer"][0]) == 64
    folder = tmp_path / "dataset"
    (folder / "inner").mkdir(parents=True)
    for name in ("a", "inner/b"):
        (folder / name).write_text(name)
    assert len(set(runs_module._contents(folder))) == 2


def test_no_default_changes_its_meaning_without_a_new_version():
    """Records of runs stay in use as long as RECIPE_VERSION does, so recipes have to mean what they meant then."""
    stored = json.loads(recipe_versions.STORED.read_text())
    assert stored.pop("version") == RECIPE_VERSION, "run python -m tests.lab.recipe_versions"
    now = recipe_versions.meanings()
    changed = {
        f"{recipe}: {key}": (value, now[recipe].get(key))
        for recipe, values in stored.items()
        for key, value in values.items()
        if now[recipe].get(key) != value
    }
    assert not changed, "raise RECIPE_VERSION in lab/runs.py, then run python -m tests.lab.recipe_versions"
