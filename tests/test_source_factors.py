"""Runs with source factors: trained, resumed, translated with, begun from; and refused by exports before they train."""

import json
import random
import shutil
from io import BytesIO, StringIO

import pytest
from typer.testing import CliRunner

from tests.cli.refusal import has_four_parts, refused
from tests.short_run import log, model_sha
from tests.small_run import VALID_PAIRS, small_pairs, small_parts, small_recipe
from trimtab.cli.app import app
from trimtab.errors import InputError
from trimtab.inference import load_translator
from trimtab.launch import train

pytestmark = pytest.mark.usefixtures("checks_of_data_only")

FACTORS = {
    "data.source_factors": [{"kind": "case"}, {"kind": "file", "name": "pos"}],
    "data.train.0.factors": {"pos": "train.pos"},
    "data.valid.factors": {"pos": "dev.pos"},
}
SHORT = {
    "length": "8 steps",
    "evaluate.every": "4 steps",
    "checkpoint.every": "4 steps",
    "step.schedule.warmup": "2 steps",
}


def write_factors(folder):
    """Some words in capitals, and for each word whether it is long."""
    draw = random.Random(5)
    for name, count, seed in (("train", 200, 1), ("dev", VALID_PAIRS, 2)):
        sources = [source.split() for source, _ in small_pairs(count, seed=seed)]
        cased = [[draw.choice((str, str.upper, str.title))(word) for word in words] for words in sources]
        (folder / f"{name}.en").write_text("".join(" ".join(each) + "\n" for each in cased), encoding="utf-8")
        values = [["LONG" if len(word) > 4 else "SHORT" for word in words] for words in sources]
        (folder / f"{name}.pos").write_text(
            "".join(" ".join(each) + "\n" for each in values), encoding="utf-8"
        )


def recipe_in(folder, **changes):
    path = small_recipe(folder, **{**FACTORS, **SHORT, **changes})
    write_factors(folder)
    return path


@pytest.fixture(scope="module")
def run(own_cache, tmp_path_factory):
    folder = tmp_path_factory.mktemp("factored")
    return train(recipe_in(folder), out=folder / "run").run


@pytest.mark.slow
def test_a_resumed_run_has_the_bits_of_one_that_was_not_stopped(run, tmp_path):
    again = tmp_path / "run"
    shutil.copytree(run, again)
    whole, steps = model_sha(run, 8), log(run, "metrics")
    shutil.rmtree(again / "checkpoints" / "step-00000008")
    train(run.parent / "recipe.yaml", out=again, resume=True)
    assert model_sha(again, 8) == whole
    assert log(again, "metrics") == steps


def test_a_run_translates_files_and_words_with_values_behind_them_alike(run, tmp_path):
    folder = run.parent
    from trimtab.inference.factored_lines import FactoredLines

    source, values = ((folder / f"dev.{end}").read_bytes() for end in ("en", "pos"))
    joined = FactoredLines(BytesIO(source), {"dev.pos": BytesIO(values)}, name="dev.en")
    translator, output = load_translator([run]), StringIO()
    translator.translate_stream(joined, output)
    pairs = zip(source.decode().splitlines(), values.decode().splitlines(), strict=True)
    written = [" ".join(map("|".join, zip(a.split(), b.split(), strict=True))) for a, b in pairs]
    assert output.getvalue().splitlines() == translator.translate(written)
    with pytest.raises(InputError, match="lines: line 1 has a word with no value of the source factor"):
        translator.translate(["the ship"])
    # Two thirds of the limit make a piece, and words are never cut.
    assert len(translator.translate([" ".join(["ship|SHORT"] * 60)])) == 1
    assert translator.counts.cut_lines == 1


def test_terms_and_prefixes_have_no_factors(run):
    translator = load_translator([run])
    line = "The|SHORT old|SHORT ship|SHORT"
    (found,) = translator.translate([line], glossary={"old ship": "altes schiff"})
    assert "altes schiff" in found
    (found,) = translator.translate([line], prefixes="das")
    assert found.startswith("das")


def test_a_warm_start_keeps_factors_and_values_and_begins_where_the_run_was(run, tmp_path):
    from tests.training.test_warm_start import loss_at_start, validated
    from trimtab.progress import Silent
    from trimtab.training.warm_start import warm_start

    recipe_in(tmp_path)
    changes = {"data.tokenizer": {"path": str(run / "tokenizer")}, "model.warm_start": f"{run}@last"}
    parts = parts_with_factors(tmp_path, **changes)
    warm_start(parts, progress=Silent())
    assert loss_at_start(parts) == pytest.approx(validated(run), rel=1e-6)


def parts_with_factors(folder, **changes):
    from trimtab.build import build
    from trimtab.config.load import load_recipe
    from trimtab.config.paths import resolve_paths
    from trimtab.progress import Silent
    from trimtab.tasks.task_of import open_datasets

    recipe = resolve_paths(load_recipe(recipe_in(folder, **changes)))
    return build(recipe, open_datasets(recipe, tokenizer_folder=folder / "tokenizer", progress=Silent()))


def test_factors_that_were_added_begin_without_effect(trained_run, tmp_path):
    from tests.training.test_warm_start import loss_at_start, validated
    from trimtab.progress import Silent
    from trimtab.training.warm_start import warm_start

    changes = {
        "data.tokenizer": {"path": str(trained_run / "tokenizer")},
        "data.source_factors": [{"kind": "case"}],
        "model.warm_start": f"{trained_run}@last",
    }
    parts = small_parts(tmp_path, **changes)
    warm_start(parts, progress=Silent())
    assert loss_at_start(parts) == validated(trained_run)
    changes |= {
        "data.source_factors": [{"kind": "case", "combine": "concat", "dim": 4}], "model.tie_embeddings": "decoder"
    }  # fmt: skip
    parts = small_parts(tmp_path / "appended", **changes)
    with pytest.raises(InputError, match="those with `combine: concat` differ"):
        warm_start(parts, progress=Silent())


def test_a_run_whose_factors_changed_does_not_go_on(run, tmp_path):
    shutil.copytree(run, tmp_path / "run")
    fewer = {"data.source_factors": [{"kind": "file", "name": "pos"}]}
    with pytest.raises(InputError, match=r"data\.source_factors has changed"):
        train(recipe_in(tmp_path, **fewer), out=tmp_path / "run", resume=True)


@pytest.mark.parametrize("target", ["hf", "ctranslate2", "onnx"])
def test_exports_refuse_before_training(tmp_path, target):
    path = recipe_in(tmp_path, **{"export": [target], "model.norm_position": "after"})
    with pytest.raises(InputError, match=r"data\.source_factors: an export for") as caught:
        train(path, out=tmp_path / "run")
    assert not (tmp_path / "run" / "metrics.jsonl").exists()
    assert f"leave `data.source_factors` out to export for {target}" in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["--factors", "pos"], "no file of source factors"),
        (["--factors", "ner={folder}/dev.pos"], "not the source factors of this model"),
        (["--factors", "pos={folder}/train.pos"], "source words"),
        (["--factors", "pos={folder}/nothing"], "no such file"),
        ([], "line 1 has a word with no value"),
    ],
)
def test_wrong_files_of_factors_are_refused(run, arguments, what):
    folder = run.parent
    given = [each.format(folder=folder) for each in arguments]
    result = CliRunner().invoke(app, ["translate", str(run), "--input", str(folder / "dev.en"), *given])
    assert has_four_parts(refused(result, what))


def test_evaluate_and_score_read_files_of_factors(run, capsys):
    from trimtab.evaluation.pairs import score
    from trimtab.evaluation.translations import FactoredSource, evaluate

    folder = run.parent
    source = FactoredSource(folder / "dev.en", {"pos": folder / "dev.pos"})
    report = evaluate(run, source=source, reference=folder / "dev.de")
    last = json.loads((run / "evaluations.jsonl").read_text(encoding="utf-8").splitlines()[-1])
    assert report.loss == pytest.approx(last["loss"], rel=1e-5)
    (found,) = score(run, ["the|SHORT ship|SHORT"], ["das schiff"])
    assert found.num_tokens == 3


@pytest.mark.parametrize("command", ["translate", "evaluate", "score"])
def test_a_word_without_its_factor_is_named_with_its_file_and_line(run, tmp_path, command):
    source, target = tmp_path / "some.en", tmp_path / "some.de"
    source.write_text("the|SHORT\n\nthe|SHORT ship\n", encoding="utf-8")
    target.write_text("das\n\ndas schiff\n", encoding="utf-8")
    files = {
        "translate": ["--input", source],
        "evaluate": ["--source", source, "--reference", target],
        "score": ["--source", source, "--target", target],
    }
    result = CliRunner().invoke(app, [command, str(run), *map(str, files[command])])
    said = refused(result, "some.en: line 3 has a word with no value")
    assert has_four_parts(said)
    assert f"({source}:3)" in said


def test_what_cannot_keep_factors_in_step_refuses_them(run, tmp_path):
    from trimtab.cleaning import clean_recipe
    from trimtab.config.load import load_recipe
    from trimtab.vocabulary.run_model import RunModel

    with pytest.raises(InputError, match="its vocabulary cannot be changed"):
        RunModel.open(str(run))
    with pytest.raises(InputError, match="would no longer be aligned"):
        clean_recipe(load_recipe(run.parent / "recipe.yaml"), out=tmp_path / "clean")
