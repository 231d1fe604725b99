import numpy as np
import torch

from tests.image_run import small_lines
from trimtab.build import build
from trimtab.checkpoint.journal import read_journal
from trimtab.metrics.metric import Readings
from trimtab.report.run_data import open_run
from trimtab.report.samples import pictures_of
from trimtab.tasks.recognition.task import RECOGNITION
from trimtab.tasks.recognition.validation import lines_of


def test_a_run_writes_readings_with_their_references(image_run):
    evaluations = list(read_journal(image_run / "evaluations.jsonl"))
    assert {"cer", "wer", "exact", "loops", "loss"} <= evaluations[-1].keys()
    (first, *_) = read_journal(image_run / "samples.jsonl")
    assert first["reference"] == small_lines(12, seed=2)[0]
    assert "output" in first
    assert pictures_of(open_run(image_run)).shown, "the lines themselves, for the report"


def test_a_loss_that_is_not_finite_ends_in_no_text(opened):
    parts = build(*opened)
    with torch.no_grad():
        parts.model.ctc.output.weight.fill_(torch.nan)
    assert np.isnan(RECOGNITION.validation.loss_of(parts, parts.model, parts.datasets.valid["valid"]))


def test_the_lines_of_an_evaluation_have_their_lengths_scores_and_worst_texts():
    given = Readings(outputs=["abc", "", "axxd", "much more"], references=["abc", "ab", "abcd", ""])
    found = lines_of(given, [0, 2, 4, 6], [f"lines.tsv:{number}" for number in range(1, 8)])
    assert (found["words"], found["scores"]) == ([3, 2, 4, 0], [100.0, 0.0, 50.0, 0.0])
    assert [(each["line"], each["output"]) for each in found["worst"]] == [(3, ""), (7, "much more")]
    assert found["best"][0]["source"] == "lines.tsv:1"
