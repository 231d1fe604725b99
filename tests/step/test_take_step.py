import copy

import pytest
import torch

from tests.images import ImageModel, image_batches
from tests.optimizer_kinds import OPTIMIZERS
from tests.step.toy import Toy, packs
from trimtab.config.guard import GuardConfig
from trimtab.config.optimizers import AdamW
from trimtab.config.step import ClipGlobalNorm
from trimtab.step.clip.build import build_clip
from trimtab.step.loss_scale import LossScale
from trimtab.step.optimizer.build import build_optimizer
from trimtab.step.outlier_gate import OutlierGate
from trimtab.step.take_step import take_step
from trimtab.types import LossOutput, SkipReason

CONFIGS = [kind(weight_decay=0.1) for kind in OPTIMIZERS]


def run(model, optimizer, made, *, objective=None, scale=None, at=1.0, gate=None):
    return take_step(
        objective or model.objective,
        optimizer,
        made,
        clip=build_clip(ClipGlobalNorm(at=at)),
        scale=scale or LossScale(enabled=False, device=torch.device("cpu")),
        learning_rate=0.01,
        gate=gate,
    )


def snapshot(model, optimizer):
    return copy.deepcopy(model.state_dict()), copy.deepcopy(optimizer.state_tensors())


def assert_same(first, second):
    for a, b in zip(first, second, strict=True):
        assert a.keys() == b.keys()
        assert all(torch.equal(a[name], b[name]) for name in a)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: c.kind)
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_refused_step_changes_neither_weights_nor_moments_nor_counts(config, bad):
    model = Toy()
    optimizer = build_optimizer(config, model)
    run(model, optimizer, packs(5, 7))
    before = snapshot(model, optimizer)

    def poisoned(pack):
        out = model.objective(pack)
        return LossOutput(out.objective * bad, out.loss * bad)

    report = run(model, optimizer, packs(5, 7), objective=poisoned)
    assert report.skipped == 1
    assert_same(before, snapshot(model, optimizer))
    assert run(model, optimizer, packs(5, 7)).skipped == 0
    after = snapshot(model, optimizer)
    assert not torch.equal(before[0]["linear.weight"], after[0]["linear.weight"])


@pytest.mark.quick("adamw", "adafactor", "muon")
@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: c.kind)
def test_a_run_with_a_refused_step_equals_one_that_never_saw_it(config):
    def train(with_poison):
        model = Toy()
        optimizer = build_optimizer(config, model)
        for i in range(6):
            if with_poison and i == 3:
                run(
                    model,
                    optimizer,
                    packs(4),
                    objective=lambda p: LossOutput(
                        model.objective(p).objective * torch.nan, torch.tensor(0.0)
                    ),
                )
            run(model, optimizer, packs(3 + i, 4))
        return snapshot(model, optimizer)

    assert_same(train(with_poison=False), train(with_poison=True))


def test_the_report_says_what_happened():
    model = Toy()
    report = run(model, build_optimizer(AdamW(), model), packs(5, 7), at=1e-3)
    assert (report.num_targets, report.num_tokens) == (12, 24)
    assert report.clipped == 1
    assert report.grad_norm > 1e-3
    assert torch.isclose(report.loss, torch.tensor(64.0).log().double(), rtol=0.3)
    assert all(p.grad is None for p in model.parameters())


def test_a_loss_scale_changes_no_update():
    def weights(scale):
        model = Toy()
        optimizer = build_optimizer(AdamW(), model)
        for _ in range(3):
            run(model, optimizer, packs(5, 7), scale=scale)
        return model.linear.weight

    scaled = weights(LossScale(enabled=True, device=torch.device("cpu"), start=256.0))
    torch.testing.assert_close(scaled, weights(None))


def test_images_with_labels_are_stepped_on_like_text():
    def trained(*sizes, spoilt=None):
        model = ImageModel()
        gate = OutlierGate(GuardConfig(window=16, active_from=16))
        optimizer, reports = build_optimizer(AdamW(), model), []
        for step in range(20):
            factor = (spoilt or {}).get(step, 1.0)

            def objective(batch, factor=factor):
                out = model(batch)
                return LossOutput(out.objective * factor, out.loss * factor)

            made = image_batches(*sizes, seed=step % 2)
            reports.append(run(model, optimizer, made, objective=objective, gate=gate))
        return model, reports

    whole, reports = trained(12)
    cut, _ = trained(5, 4, 3)
    torch.testing.assert_close(cut.state_dict(), whole.state_dict(), rtol=1e-3, atol=1e-4)
    assert [(report.num_targets, report.num_tokens) for report in reports] == [(12, 12)] * 20
    assert reports[-1].loss < reports[1].loss
    guarded, reports = trained(5, 4, 3, spoilt={2: torch.nan, 18: 100.0})
    assert {step: int(each.skip_reason) for step, each in enumerate(reports) if each.skipped} == {
        2: SkipReason.NOT_FINITE,
        18: SkipReason.LOSS_SPIKE,
    }
    assert all(weight.isfinite().all() for weight in guarded.parameters())


@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: c.kind)
def test_weights_without_a_gradient_stay_unless_a_batch_says_that_it_leaves_some_out(config):
    model = Toy()
    model.unused = torch.nn.Linear(4, 4)
    optimizer = build_optimizer(config, model)
    before = model.unused.weight.detach().clone()
    run(model, optimizer, packs(5, 7))
    assert torch.equal(model.unused.weight, before)
    run(
        model,
        optimizer,
        [LeavesSomeOut(pack) for pack in packs(5, 7)],
        objective=lambda batch: model.objective(batch.pack),
    )
    assert not torch.equal(model.unused.weight, before), "decayed"


class LeavesSomeOut:
    leaves_weights_out = True

    def __init__(self, pack):
        self.pack = pack

    def __getattr__(self, name):
        return getattr(self.pack, name)
