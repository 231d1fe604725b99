import math
from itertools import islice

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from trimtab.checkpoint.journal import read_journal
from trimtab.tasks.classification.validation import example_losses, loss_of, predicted, validated
from trimtab.tasks.task import Moment
from trimtab.training.example_losses import suspect_examples


def moment(loss):
    return Moment(loss=loss, started=0.0, first=True, share=1.0, input_matters=False)


def test_loss_and_labels_are_those_of_one_text_at_a_time(parts):
    parts.model.eval()
    valid = parts.datasets.valid["valid"]
    losses, best = [], []
    for number in range(valid.rows):
        rows, labels = valid.text.between(number, number + 1), valid.labels[number : number + 1]
        (batch,) = parts.batching.whole_set(rows, labels)
        logits = F.linear(parts.model(batch), parts.model.output_matrix)[:, :3]
        losses.append(float(F.cross_entropy(logits, batch.labels)))
        best.append(int(logits.argmax()))
    assert loss_of(parts, parts.model, valid) == pytest.approx(np.mean(losses), rel=1e-5)
    batches = parts.batching.whole_set(valid.text, valid.labels)
    found = predicted(parts.model, batches, device=parts.device, precision=parts.precision)
    assert found.labels.tolist() == best


def test_an_evaluation_has_the_metrics_of_the_recipe_and_samples(label_run):
    evaluations = list(read_journal(label_run / "evaluations.jsonl"))
    assert [each["step"] for each in evaluations] == [20, 40]
    assert set(evaluations[0]) == {"step", "set", "loss", "accuracy", "macro_f1", "lines", "seconds"}
    assert evaluations[-1]["accuracy"] > 0.9
    sample = next(read_journal(label_run / "samples.jsonl"))
    assert set(sample) == {"step", "set", "line", "source", "label", "predicted", "probability"}


def test_a_loss_that_is_no_number_gives_no_labels(parts):
    found = validated(parts, parts.model, parts.datasets.valid["valid"], moment(math.nan))
    assert [each.code for each in found.findings] == ["E906"]
    assert all(math.isnan(value) for value in found.scores.values())


def test_each_example_of_a_step_has_its_own_loss_in_order(parts):
    parts.model.eval()
    window = next(parts.stream.host_batches(0))[0]
    losses = example_losses(parts, window)
    for number in range(0, 32, 7):
        rows, labels = window.source.between(number, number + 1), window.target.row(number)
        (batch,) = parts.batching.whole_set(rows, labels)
        with torch.no_grad():
            assert losses.loss[number] == pytest.approx(float(parts.stepper.loss(parts.model, batch).loss))
    assert losses.targets.tolist() == [1] * 32


def test_the_worst_lines_of_a_step_are_named_with_text_and_label(parts):
    (window, _) = next(islice(parts.stream.host_batches(0), 1))
    suspects = suspect_examples(parts, window, step=1)
    text, label = parts.datasets.corpora[0].pair(suspects[0].line - 1)
    assert (suspects[0].source, suspects[0].target) == (text, label)
    assert suspects[0].place.endswith(f"train.tsv:{suspects[0].line}")
