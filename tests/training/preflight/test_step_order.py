import pytest
import torch

from tests.faults.mutation import put_bug, rewritten
from trimtab.config.step import ClipAdaptive, ClipGlobalNorm, ClipOff
from trimtab.step import take_step as step
from trimtab.step.optimizer.protocol import Optimizer
from trimtab.step.take_step import step_on_device
from trimtab.training.preflight.step_order import Witness, steps_in_order, tight_clip

CLIPS = [ClipGlobalNorm(at=1.0), ClipGlobalNorm(at=1e-4), ClipAdaptive(), ClipOff()]


def codes(parts):
    return [(each.code, each.severity) for each in steps_in_order(parts)]


@pytest.mark.quick("kind='global_norm' at=1.0", "kind='off'")
@pytest.mark.parametrize("clip", CLIPS, ids=str)
def test_steps_of_every_clip_are_in_order(parts_with, clip):
    parts = parts_with(step={"clip": clip})
    before = parts.model.embedding.weight.clone()
    assert codes(parts) == []
    assert torch.equal(before, parts.model.embedding.weight)
    assert parts.stepper.optimizer.state_tensors() == {}


def test_gradients_that_are_never_taken_away_are_found(parts, monkeypatch):
    put_bug(monkeypatch, step_on_device, ("parameter.grad = None", "pass"))
    (finding,) = steps_in_order(parts)
    assert finding.code == "S207"


def test_gradients_that_are_taken_away_at_the_start_of_a_step_are_well(parts, monkeypatch):
    wrong = rewritten(step_on_device, ("parameter.grad = None", "pass"))

    def cleared(objective, optimizer, *rest, **named):
        for parameter in optimizer.parameters:
            parameter.grad = None
        return wrong(objective, optimizer, *rest, **named)

    monkeypatch.setattr(step, "step_on_device", cleared)
    assert codes(parts) == []


@pytest.mark.quick("kind='adaptive' at=1.05 decay=0.98 first=1.0 first_steps=100", "kind='off'")
@pytest.mark.parametrize("clip", CLIPS, ids=str)
def test_clipping_after_the_update_is_found_where_there_is_any(parts_with, monkeypatch, clip):
    put_bug(
        monkeypatch,
        step_on_device,
        ("clip(gradients, unscale", "clip([each.clone() for each in gradients], unscale"),
        ("clip.after(skipped)", "clip(gradients, unscale=scale.inverse); clip.after(skipped)"),
    )
    expected = [] if isinstance(clip, ClipOff) else [("S208", "error")]
    assert codes(parts_with(step={"clip": clip})) == expected


def test_a_witness_sees_the_norm_and_moves_nothing():
    weight = torch.nn.Parameter(torch.ones(2))
    witness = Witness([weight, torch.nn.Parameter(torch.ones(3))])
    assert isinstance(witness, Optimizer)
    witness.update(learning_rate=1.0, skip=torch.tensor(False))
    weight.grad = torch.tensor([3.0, 4.0])
    witness.update(learning_rate=1.0, skip=torch.tensor(True))
    assert witness.norms == [0.0, 5.0]
    assert weight.tolist() == [1.0, 1.0]


def test_a_tight_clip_is_of_the_same_kind():
    assert tight_clip(ClipGlobalNorm(at=5.0), at=0.1) == (ClipGlobalNorm(at=0.1), 0.1)
    assert tight_clip(ClipAdaptive(at=1.2), at=0.1) == (ClipAdaptive(at=1.2, first=0.1), 0.1)
    assert tight_clip(ClipOff(), at=0.1) == (ClipOff(), None)
