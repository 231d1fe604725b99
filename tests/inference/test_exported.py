import json
import shutil

import pytest

from tests.export.runs import trained
from tests.small_run import small_pairs, write_pairs
from trimtab.decode.search import Search
from trimtab.errors import InputError
from trimtab.evaluation.pairs import score
from trimtab.evaluation.translations import evaluate
from trimtab.export.manifest import MANIFEST, RECIPE
from trimtab.export.open_export import is_export
from trimtab.exporting import export_model
from trimtab.inference import ExportedModel, load_translator, open_model

LINES = [source for source, _ in small_pairs(60, seed=9)]
LONG = " ".join(LINES[:12])


@pytest.mark.quick("1")
@pytest.mark.parametrize("beam", [1, 4])
def test_an_export_translates_every_line_as_its_run_does(trained_run, exported_run, beam):
    lines = [*LINES, "", "   ", LONG, "the </s> ship <pad>", ">> the << ship"]
    ours = load_translator(f"{trained_run}@last", beam=beam, device="cpu").translate(lines)
    theirs = load_translator(str(exported_run), beam=beam, device="cpu").translate(lines)
    assert theirs == ours
    assert len(set(ours)) > 5


@pytest.mark.slow
def test_n_best_lists_prefixes_and_ensembles_work_too(trained_run, exported_run):
    run = f"{trained_run}@last"
    pairs = [load_translator(each, beam=3, device="cpu") for each in (run, str(exported_run))]
    ours, theirs = (each.n_best(LINES[:8], n=3, prefixes="das") for each in pairs)
    assert [[each.text for each in few] for few in theirs] == [[each.text for each in few] for few in ours]
    together = load_translator([run, str(exported_run)], beam=3, device="cpu").translate(LINES)
    assert together == load_translator(run, beam=3, device="cpu").translate(LINES)


@pytest.mark.slow
def test_it_is_evaluated_and_scores_given_pairs_as_its_run_does(trained_run, exported_run):
    files = {"source": trained_run.parent / "dev.en", "reference": trained_run.parent / "dev.de"}
    ours, theirs = (evaluate(each, **files) for each in (f"{trained_run}@last", str(exported_run)))
    assert (theirs.bleu, theirs.chrf) == (ours.bleu, ours.chrf)
    assert theirs.loss == pytest.approx(ours.loss, abs=1e-5)
    sources, targets = zip(*small_pairs(20, seed=4), strict=True)
    scores = [
        list(score(each, sources, targets, device="cpu"))
        for each in (f"{trained_run}@last", str(exported_run))
    ]
    assert [each.log_probability for each in scores[1]] == pytest.approx(
        [each.log_probability for each in scores[0]], abs=1e-4
    )


def test_what_is_open_says_what_it_is(trained_run, exported_run):
    assert isinstance(open_model(str(exported_run)), ExportedModel)
    assert not isinstance(open_model(str(trained_run)), ExportedModel)
    assert is_export(exported_run)
    assert not is_export(trained_run)


def test_a_tag_that_is_none_is_wrong_input(exported_run):
    with pytest.raises(InputError, match="no piece '<2de>'"):
        open_model(str(exported_run)).translator(search=Search(), tags=("<2de>",))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 99}, "format 99"),
        ({"target": "tensorrt"}, "an export for 'tensorrt'"),
        ({"tokenizers": [{"file": "source.spm", "sha256": "0" * 64, "symbols": []}]}, "not the tokenizer"),
        (None, "other keys"),
    ],
)
def test_a_card_that_does_not_fit_is_wrong_input(exported_run, tmp_path, change, message):
    copy = shutil.copytree(exported_run, tmp_path / "copy")
    card = json.loads((copy / MANIFEST).read_text())
    (copy / MANIFEST).write_text(json.dumps([] if change is None else {**card, **change}))
    with pytest.raises(InputError, match=message):
        open_model(str(copy))


def test_a_card_that_is_no_json_is_wrong_input(exported_run, tmp_path):
    copy = shutil.copytree(exported_run, tmp_path / "copy")
    (copy / MANIFEST).write_text("{")
    with pytest.raises(InputError, match="no valid JSON"):
        open_model(str(copy))


def test_a_recipe_that_reads_more_than_the_model_has_positions_for_is_wrong_input(exported_run, tmp_path):
    copy = shutil.copytree(exported_run, tmp_path / "copy")
    recipe = (copy / RECIPE).read_text()
    (copy / RECIPE).write_text(recipe.replace("max_tokens: 32", "max_tokens: 70"))
    with pytest.raises(InputError, match="more than the model has positions for"):
        open_model(str(copy))


def test_settings_of_another_model_than_the_recipe_says_are_wrong_input(exported_run, tmp_path):
    copy = shutil.copytree(exported_run, tmp_path / "copy")
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps({**config, "decoder_start_token_id": 5}))
    with pytest.raises(InputError, match="decoder_start_token_id 5"):
        open_model(str(copy))


def test_other_weights_than_those_that_were_proven_are_wrong_input(exported_run, tmp_path):
    copy = shutil.copytree(exported_run, tmp_path / "copy")
    with open(copy / "model.safetensors", "r+b") as weights:
        weights.seek(-1, 2)
        weights.write(b"\x01")
    with pytest.raises(InputError, match="not the weights that were exported"):
        open_model(str(copy))


def test_a_card_that_names_another_file_as_the_weights_is_wrong_input(exported_run, tmp_path):
    copy = shutil.copytree(exported_run, tmp_path / "copy")
    card = json.loads((copy / MANIFEST).read_text())
    tokenizer = card["tokenizers"][0]
    (copy / MANIFEST).write_text(json.dumps({**card, "weights": {**tokenizer}}))
    with pytest.raises(InputError, match=r"weights in source\.spm"):
        open_model(str(copy))


def test_a_folder_without_its_card_is_no_export(exported_run, tmp_path):
    copy = shutil.copytree(exported_run, tmp_path / "copy")
    (copy / MANIFEST).unlink()
    with pytest.raises(InputError):
        open_model(str(copy))


@pytest.fixture(scope="module")
def prepared_run(tmp_path_factory):
    """A run whose lines are normalized, and whose numbers are protected."""
    folder = tmp_path_factory.mktemp("prepared")
    changes = {
        "data.transforms": [{"kind": "normalize"}, {"kind": "protect", "patterns": ["number"], "symbols": 2}],
        "data.tokenizer.vocabulary_size": 70,
    }
    pairs = [(f"{source} {n}", f"{target} {n}") for n, (source, target) in enumerate(small_pairs(40))]
    write_pairs(folder, "numbers", pairs)
    return trained(folder, **changes, **{"data.valid": {"source": "numbers.en", "target": "numbers.de"}})


@pytest.mark.quick("ctranslate2")
@pytest.mark.parametrize("target", ["hf", "ctranslate2", "onnx"])
def test_an_export_prepares_lines_as_its_run_does(prepared_run, tmp_path, target):
    """The run trained with them, and no export could be made of it."""
    report = export_model(str(prepared_run), to=target, out=tmp_path / "out")
    assert report.gate.passed
    assert "it normalizes each line and puts symbols" in (tmp_path / "out" / "README.md").read_text()
    lines = ["the \x07 small   ship 41", "old boat 7 7 8", "wind"]
    both = [load_translator(str(each), beam=1, device="cpu") for each in (prepared_run, tmp_path / "out")]
    run, exported = (translator.translate(lines) for translator in both)
    assert exported == run
    assert all("41" in translated[0] and translated[1].count("7") == 2 for translated in (run, exported))
    scores = [
        [each.log_probability for each in score(str(model), lines, run, device="cpu")]
        for model in (prepared_run, tmp_path / "out")
    ]
    assert scores[1] == pytest.approx(scores[0], abs=1e-3)
