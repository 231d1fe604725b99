import numpy as np
import torch

from tests.image_run import small_lines
from trimtab.build import build
from trimtab.checkpoint.journal import read_journal
from trimtab.report.run_data import open_run
from trimtab.report.samples import pictures_of
from trimtab.tasks.recognition.task import RECOGNITION


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
