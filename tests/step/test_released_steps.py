import pytest
import torch

from tests.step.toy import Toy, packs
from trimtab.config.guard import GuardConfig
from trimtab.config.optimizers import SGD, Adafactor, AdamW, AdEMAMix, Lion, StableAdamW
from trimtab.config.step import ClipGlobalNorm, ClipOff
from trimtab.step.clip.build import build_clip
from trimtab.step.loss_scale import LossScale
from trimtab.step.optimizer.build import build_optimizer
from trimtab.step.outlier_gate import OutlierGate
from trimtab.step.released_steps import ReleasedSteps, each_gradient
from trimtab.step.take_step import take_step
from trimtab.types import LossOutput, SkipReason

SCALE = LossScale(enabled=False, device=torch.device("cpu"))
CONFIGS = [
    AdamW(weight_decay=0.1),
    AdamW(states="8bit"),
    StableAdamW(),
    StableAdamW(states="4bit"),
    Lion(),
    SGD(),
    Adafactor(),
    AdEMAMix(),
]
GUARD = GuardConfig(window=16, active_from=8)


class Run:
    """A toy model with what a step needs."""

    def __init__(self, config, clip, *, released, dtype=torch.float32):
        self.model = Toy().to(dtype)
        self.optimizer = build_optimizer(config, self.model, by_tensor=True)
        self.clip, self.gate = build_clip(clip), OutlierGate(GUARD)
        self.taken = ReleasedSteps().take_step if released else take_step

    def step(self, sizes=(5,), objective=None):
        return self.taken(
            objective or self.model.objective,
            self.optimizer,
            packs(*sizes),
            clip=self.clip,
            scale=SCALE,
            gate=self.gate,
            learning_rate=0.01,
        )

    def tensors(self):
        held = dict(self.model.named_parameters()) | self.optimizer.state_tensors()
        return {name: each.detach().clone() for name, each in held.items()}


def same(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.quick("adamw float32-kind='global_norm' at=0.05", "ademamix -kind='off'")
@pytest.mark.parametrize("clip", [ClipGlobalNorm(at=0.05), ClipGlobalNorm(at=50.0), ClipOff()], ids=str)
@pytest.mark.parametrize("config", CONFIGS, ids=lambda each: f"{each.kind} {getattr(each, 'states', '')}")
def test_updates_have_the_bits_of_those_with_all_gradients(config, clip):
    kept, released = (Run(config, clip, released=each) for each in (False, True))
    for size in range(4, 9):
        reports = [run.step((size,)) for run in (kept, released)]
        for name in ("loss", "objective", "grad_norm", "clipped", "skip_reason"):
            one, other = (getattr(report, name) for report in reports)
            assert torch.equal(one, other), name
    assert same(kept.tensors(), released.tensors())
    assert kept.gate.to_dict() == released.gate.to_dict()


def poisoned(run):
    def objective(pack):
        out = run.model.objective(pack)
        return LossOutput(out.objective * torch.nan, out.loss)

    return objective


@pytest.mark.parametrize("clip", [ClipGlobalNorm(), ClipOff()], ids=lambda each: each.kind)
def test_a_loss_that_is_not_finite_changes_nothing(clip):
    run = Run(AdamW(states="8bit"), clip, released=True)
    run.step()
    before = run.tensors()
    report = run.step(objective=poisoned(run))
    assert int(report.skip_reason) == SkipReason.NOT_FINITE
    assert same(before, run.tensors())
    run.gate.masked = True
    assert int(run.step().skip_reason) == SkipReason.MASKED
    assert same(before, run.tensors())


def breaking(run):
    """The gradient of the embeddings alone becomes infinite."""

    def objective(pack):
        vectors = run.model.embedding(pack.target.ids)
        vectors.register_hook(lambda gradient: gradient * torch.inf)
        logits = run.model.linear(vectors)
        loss = torch.nn.functional.cross_entropy(logits, pack.labels, reduction="sum")
        return LossOutput(loss, loss.detach())

    return objective


def test_with_clipping_one_infinite_gradient_keeps_every_weight_as_it_is():
    run = Run(AdamW(), ClipGlobalNorm(), released=True)
    before = run.tensors()
    assert int(run.step(objective=breaking(run)).skip_reason) == SkipReason.NOT_FINITE
    assert same(before, run.tensors())


def test_without_clipping_the_tensor_with_an_infinite_gradient_alone_stays():
    run = Run(AdamW(), ClipOff(), released=True)
    before = run.tensors()
    report = run.step(objective=breaking(run))
    assert int(report.skip_reason) == SkipReason.NOT_FINITE
    after = run.tensors()
    assert torch.equal(before["embedding.weight"], after["embedding.weight"])
    assert torch.equal(before["embedding.weight.exp_avg"], after["embedding.weight.exp_avg"])
    assert not torch.equal(before["linear.weight"], after["linear.weight"])


def test_a_loss_spike_is_skipped_before_a_weight_moves():
    run = Run(SGD(), ClipOff(), released=True)
    for _ in range(GUARD.active_from + 1):
        run.step()
    before = run.tensors()

    def larger(pack):
        out = run.model.objective(pack)
        return LossOutput(out.objective * 100, out.loss * 100)

    assert int(run.step(objective=larger).skip_reason) == SkipReason.LOSS_SPIKE
    assert same(before, run.tensors())


@pytest.mark.parametrize("clip", [ClipGlobalNorm(), ClipOff()], ids=lambda each: each.kind)
def test_no_two_gradients_are_there_at_once_and_none_is_left(clip):
    run = Run(AdamW(), clip, released=True)
    update, seen = run.optimizer.update_tensor, []

    def watched(name, **given):
        seen.append(sum(each.grad is not None for each in run.model.parameters()))
        update(name, **given)

    run.optimizer.update_tensor = watched
    run.step()
    assert seen == [1, 1, 1]
    assert all(each.grad is None for each in run.model.parameters())


def test_a_weight_that_is_used_twice_is_handed_over_once_with_its_whole_gradient():
    weight = torch.nn.Parameter(torch.ones(3))
    seen = []
    with each_gradient({"w": weight}, lambda name, each: seen.append((name, each.grad.clone()))):
        (weight.sum() + (2 * weight).sum()).backward()
    assert [(name, grad.tolist()) for name, grad in seen] == [("w", [3.0, 3.0, 3.0])]
    assert weight.grad is None
    weight.sum().backward()
    assert weight.grad is not None


def test_a_step_that_does_not_fit_into_one_micro_batch_is_the_same_update():
    one, other = (Run(SGD(), ClipGlobalNorm(at=0.05), released=each) for each in (True, False))
    for _ in range(2):
        reports = [each.step(sizes=(3, 4)) for each in (one, other)]
        torch.testing.assert_close(reports[0].grad_norm, reports[1].grad_norm)
    for name, tensor in one.tensors().items():
        torch.testing.assert_close(tensor, other.tensors()[name])
