import math
from dataclasses import replace

import pytest
import torch

from tests.training.small_line import small_line
from trimtab.model.block import CrossAttention
from trimtab.tasks.text import diagnose as stage
from trimtab.tasks.text.diagnose import diagnose
from trimtab.tasks.text.validation_scores import TranslatedLines
from trimtab.training.validate import validate
from trimtab.types import TrainState


@pytest.fixture
def line(tmp_path):
    return small_line(tmp_path)


@pytest.mark.parametrize(
    ("loss", "pairs", "codes"),
    [
        (1.0, 24, ["M901"]),
        (1.0, 8, ["M901"]),
        (1.0, 7, []),  # too few to judge by
        (3.5, 24, []),  # nothing is learned yet
        (math.nan, 24, []),
    ],
)
def test_sources_are_judged_where_something_is_learned_by_pairs_enough(line, loss, pairs, codes):
    deaf(line.parts.model)
    valid = line.parts.datasets.valid["valid"]
    valid = replace(valid, source=valid.source.between(0, pairs), target=valid.target.between(0, pairs))
    sentences = [f"sentence {number}" for number in range(8)]
    found = TranslatedLines(lines=[*range(8)], sources=sentences, references=sentences, outputs=sentences)
    model = line.parts.model.eval()
    said = diagnose(line.parts, model, valid, found, loss=loss, share=1.0, source_matters=False)
    assert [each.code for each in said.findings] == codes
    assert not said.source_matters


def test_a_model_that_reacts_to_its_source_is_remembered(line, monkeypatch):
    monkeypatch.setattr(stage, "LEAST_REACTION", -1.0)
    same = ["one", "two", "three", "four", "five", "six"]
    found = TranslatedLines(lines=[*range(6)], sources=same, references=same, outputs=["no"] * 6)
    valid, model = line.parts.datasets.valid["valid"], line.parts.model.eval()
    said = diagnose(line.parts, model, valid, found, loss=1.0, share=1.0, source_matters=False)
    assert said.source_matters
    assert [(each.code, each.severity) for each in said.findings] == [("E901", "error")]


@pytest.mark.slow
def test_sources_are_not_judged_too_early(line, monkeypatch):
    monkeypatch.setattr(stage, "LEARNED_SHARE", 10.0)
    deaf(line.parts.model)
    validate(line.parts, TrainState(step=11), line.recorder)
    assert "M901" not in [each.code for each in line.told.findings]
    validate(line.parts, TrainState(step=12), line.recorder)
    assert "M901" in [each.code for each in line.told.findings]


def test_sources_that_were_seen_to_matter_are_not_judged_again(line, monkeypatch):
    monkeypatch.setattr(stage, "LEARNED_SHARE", 10.0)
    line.recorder.input_matters = True
    deaf(line.parts.model)
    validate(line.parts, TrainState(step=30), line.recorder)
    assert "M901" not in [each.code for each in line.told.findings]


def deaf(model):
    """Cuts the decoder off from the encoder."""
    for module in model.modules():
        if isinstance(module, CrossAttention):
            torch.nn.init.zeros_(module.out.weight)
