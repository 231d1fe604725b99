from dataclasses import replace

import torch

from trimtab.data.transforms.apply import EMPTY_TARGET
from trimtab.tasks.classification.checks import data_checks, text_is_the_same_alone, texts_are_apart
from trimtab.training.preflight import preflight
from trimtab.types import DroppedExample


def test_a_sound_model_has_no_finding_and_no_trace_is_left(parts):
    before = {name: tensor.clone() for name, tensor in parts.model.state_dict().items()}
    assert [*preflight(parts)] == []
    assert all(torch.equal(tensor, before[name]) for name, tensor in parts.model.state_dict().items())


def test_texts_that_see_each_other_are_found(parts, monkeypatch):
    encode = parts.model.encode

    def leaking(stream):
        x = encode(stream)
        return x + 0.1 * x.mean(0)

    monkeypatch.setattr(parts.model, "encode", leaking)
    assert [each.code for each in texts_are_apart(parts)] == ["M203"]
    assert [each.code for each in text_is_the_same_alone(parts)] == ["M204"]


def test_a_model_that_does_not_read_is_found(parts, monkeypatch):
    encode = parts.model.encode
    monkeypatch.setattr(parts.model, "encode", lambda stream: torch.ones_like(encode(stream)))
    assert "M202" in [each.code for each in texts_are_apart(parts)]


def test_examples_that_are_dropped_are_found(parts):
    sample = parts.datasets.sample
    lost = tuple(DroppedExample(0, line, EMPTY_TARGET) for line in range(len(sample.target)))
    parts.datasets = replace(parts.datasets, sample=replace(sample, dropped=lost))
    ((code, message, fix),) = [(each.code, each.message, each.fix) for each in data_checks(parts)]
    assert code == "D202"
    assert f"50.0% of the first {2 * len(lost)} examples" in message
    assert "without a label" in fix


def test_text_without_pieces_is_found(parts):
    unknown = parts.datasets.tokenizer.unknown
    parts.datasets.sample.source.values[::3], kept = unknown, parts.datasets.sample.source.values.copy()
    try:
        assert "D201" in [each.code for each in data_checks(parts)]
    finally:
        parts.datasets.sample.source.values[:] = kept
