import json
import shutil

import pytest

from tests.export.test_gate import GOOD
from trimtab.export.card import TO_FILL_IN, model_card
from trimtab.export.export_model import build_target
from trimtab.translator import load_model


def card(run):
    model = load_model(f"{run}@last", device="cpu")
    return model_card(model, target=build_target("hf"), gate=GOOD, name="mine")


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
