import ast
import json
import shlex
import shutil

import pytest

from tests.export.runs import trained
from tests.export.test_translation_gate import GOOD
from trimtab.export.card import TO_FILL_IN, model_card
from trimtab.export.targets import build_target
from trimtab.export.write_export import GivenText, LinesProof
from trimtab.inference import load_model


def card(run):
    model = load_model(f"{run}@last", device="cpu")
    proof = LinesProof(model, GivenText())
    own = build_target("hf").card(model, name="mine", tags=proof.tags())
    return model_card(model, proof.words("mine", own), own, gate=GOOD, name="mine")


def test_it_says_recipe_data_scores_proof_and_limits_and_leaves_licences_to_be_filled_in(
    trained_run, exported_run
):
    told = card(trained_run)
    assert told.startswith("---\nlibrary_name: transformers\n")
    for words in (
        "# mine",
        "## Data",
        "## Scores",
        "## Proof",
        "## Limits",
        "## Recipe",
        "norm_position: before",
    ):
        assert words in told
    assert "200 pairs, sha256 " in told
    assert "`nrefs:1\\|case:mixed" in told
    assert "200 lines, 1000 target tokens" in told
    assert told.count(TO_FILL_IN) == 6, "weights, languages, use, the file's head, and each of two corpora"
    assert (exported_run / "README.md").read_text().splitlines()[0] == "---"


def test_scores_are_those_of_the_step_and_their_absence_is_told(trained_run, tmp_path):
    found = [json.loads(line) for line in (trained_run / "evaluations.jsonl").read_text().splitlines()]
    last = next(each for each in found if each["step"] == 60)
    first = next(each for each in found if each["step"] == 20)
    scores = card(trained_run).split("## Scores")[1].split("##")[0]
    assert f"| {last['loss']:.4g} |" in scores
    assert f"| {first['loss']:.4g} |" not in scores
    run = shutil.copytree(trained_run, tmp_path / "run")
    (run / "evaluations.jsonl").unlink()
    assert "evaluated nothing at this step" in card(run)


@pytest.mark.parametrize("torn", [b'{"step": 60, "set": "dev", "lo', b"[60]\n", b"\xff\xfe\n"])
def test_a_line_that_was_cut_off_is_passed_over(trained_run, tmp_path, torn):
    whole = card(trained_run)
    run = shutil.copytree(trained_run, tmp_path / "run")
    with open(run / "evaluations.jsonl", "ab") as file:
        file.write(torn)
    assert card(run).split("## Scores")[1].split("##")[0] == whole.split("## Scores")[1].split("##")[0]


@pytest.mark.parametrize("word", ["nan", "inf"])
def test_a_score_that_is_not_finite_is_shown_as_the_log_has_it(trained_run, tmp_path, word):
    run = shutil.copytree(trained_run, tmp_path / "run")
    line = {"step": 60, "set": "dev", "loss": word, "chrf": 31.25, "chrf_signature": "nc:6|nw:0"}
    (run / "evaluations.jsonl").write_text(json.dumps(line) + "\n")
    scores = card(run).split("## Scores")[1].split("##")[0]
    assert f"| dev | loss | {word} | `nats per target token` |" in scores
    assert "| dev | chrf | 31.25 | `nc:6\\|nw:0` |" in scores


def test_it_says_how_many_lines_were_translated_and_where_the_lines_of_the_proof_stand(
    trained_run, exported_run, tmp_path
):
    whole = (exported_run / "README.md").read_text()
    assert "The lines: " in whole
    assert " of validation set " in whole
    assert " of training corpus " in whole
    run = shutil.copytree(trained_run, tmp_path / "run")
    line = {"step": 60, "set": "dev", "loss": 1.0, "bleu": 3.0, "lines": 24}
    (run / "evaluations.jsonl").write_text(json.dumps(line) + "\n")
    assert "Translated for it: 24 lines of dev; the loss is that of the whole set." in card(run)
    del line["bleu"]
    (run / "evaluations.jsonl").write_text(json.dumps(line) + "\n")
    assert "Translated for it" not in card(run)


@pytest.mark.slow
def test_a_model_that_saw_no_line_without_tags_is_shown_with_them(tmp_path):
    tagged = {"data.train.0.tags": ["<2de>"], "data.valid.tags": ["<2de>"]}
    told = card(trained(tmp_path, **tagged, **{"data.tokenizer.vocabulary_size": 68})).split("## Data")[0]
    assert 'tokenizer(["<2de> A line."]' in told
    assert "`trimtab translate mine --tag '<2de>'`" in told
    assert "such as `<2de>`" in told


def test_a_name_with_quotes_is_still_python_and_shell(trained_run):
    model = load_model(f"{trained_run}@last", device="cpu")
    name = 'we "ird name'
    proof = LinesProof(model, GivenText())
    own = build_target("hf").card(model, name=name, tags=proof.tags())
    told = model_card(model, proof.words(name, own), own, gate=GOOD, name=name).split("## Data")[0]
    code = told.split("```python\n")[1].split("```")[0]
    strings = [node.value for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Constant)]
    assert strings.count(name) == 2
    assert shlex.split(told.rsplit("`", 2)[1]) == ["trimtab", "translate", name]
