import json
import math
from importlib.util import find_spec

import pytest
import torch

from trimtab.errors import InputError
from trimtab.guard import Guard, OutlierRule

pytestmark = pytest.mark.skipif(find_spec("accelerate") is None, reason="needs transformers and accelerate")
transformers = pytest.importorskip("transformers")

POISON_AT = 40
"""The step whose examples make it go wrong; in order."""
BATCH = 64


class Line(torch.nn.Module):
    """y = w x + b, with the squared error as its loss, times what the example says."""

    def __init__(self):
        super().__init__()
        self.map = torch.nn.Linear(4, 1)

    def forward(self, x, y, factor, labels=None):
        return {"loss": ((self.map(x).squeeze(-1) - y) ** 2 * factor).mean()}


@pytest.fixture(scope="module")
def guard_trainer():
    """Imported late: processes that run other tests need not spend the seconds that the Trainer takes."""
    from trimtab.adapters.hugging_face_guard import guard_trainer

    return guard_trainer


def examples(count: int, factor: float) -> list[dict]:
    draw = torch.Generator().manual_seed(3)
    rows = torch.randn(count, 4, generator=draw)
    return [
        {"x": row, "y": row.sum(), "factor": torch.tensor(factor if number // BATCH == POISON_AT else 1.0)}
        for number, row in enumerate(rows)
    ]


def trainer(folder, factor: float, *, steps: int = 80, accumulation: int = 1, callbacks=(), **options):
    torch.manual_seed(1)
    arguments = transformers.TrainingArguments(
        output_dir=str(folder),
        max_steps=steps,
        per_device_train_batch_size=BATCH,
        gradient_accumulation_steps=accumulation,
        learning_rate=1e-2,
        report_to=[],
        use_cpu=True,
        save_strategy="steps",
        save_steps=options.pop("save_steps", 1000),
        logging_steps=1000,
        remove_unused_columns=False,
        disable_tqdm=True,
        **options,
    )

    class InOrder(transformers.Trainer):
        def _get_train_sampler(self, *args, **kwargs):
            return torch.utils.data.SequentialSampler(self.train_dataset)

    return InOrder(
        model=Line(),
        args=arguments,
        train_dataset=examples(steps * accumulation * BATCH, factor),
        callbacks=list(callbacks),
    )


def snapshots(after):
    """A callback that puts the weights after each call of the optimizer into a list."""

    class Snapshots(transformers.TrainerCallback):
        def on_optimizer_step(self, args, state, control, model=None, **kwargs):
            after.append([weight.detach().clone() for weight in model.parameters()])

    return Snapshots()


def small_guard() -> Guard:
    return Guard(OutlierRule(window=32, active_from=16))


@pytest.mark.quick("nan", "1000000.0")
@pytest.mark.parametrize("factor", [math.nan, math.inf, 1e6])
def test_a_poisoned_step_changes_no_weight_and_the_run_goes_on(tmp_path, factor, guard_trainer):
    weights, told = [], []
    guarded = trainer(tmp_path, factor, callbacks=[snapshots(weights)])
    guard_trainer(guarded, small_guard(), tell=told.append)
    guarded.train()
    before, after = weights[POISON_AT - 1 : POISON_AT + 1]
    assert all(torch.equal(one, other) for one, other in zip(before, after, strict=True))
    assert not all(torch.equal(one, other) for one, other in zip(after, weights[POISON_AT + 1], strict=True))
    assert all(torch.isfinite(weight).all() for weight in guarded.model.parameters())
    assert [finding.code for finding in told] == ["S901" if not math.isfinite(factor) else "S902"]


def test_without_the_guard_the_same_step_spoils_the_weights(tmp_path):
    plain = trainer(tmp_path, math.nan, max_grad_norm=1.0)
    plain.train()
    assert not all(torch.isfinite(weight).all() for weight in plain.model.parameters())


@pytest.mark.slow
def test_a_healthy_run_is_the_same_with_and_without_the_guard(tmp_path, guard_trainer):
    weights = []
    for name in ("plain", "guarded"):
        run = trainer(tmp_path / name, 1.0, accumulation=2)
        if name == "guarded":
            guard = guard_trainer(run, small_guard())
        run.train()
        weights.append([weight.detach().clone() for weight in run.model.parameters()])
    assert all(torch.equal(one, other) for one, other in zip(*weights, strict=True))
    assert guard.budget.steps == 80
    assert guard.budget.share == 0


@pytest.mark.slow
def test_a_resumed_run_goes_on_with_the_saved_guard(tmp_path, guard_trainer):
    first = trainer(tmp_path, 1.0, save_steps=30, steps=60)
    guard_trainer(first, small_guard())
    first.train()
    saved = json.loads((tmp_path / "checkpoint-30" / "guard.json").read_text())
    assert len(saved["outliers"]["losses"]) == 30
    again = trainer(tmp_path, 1.0, save_steps=1000, steps=60)
    guard = guard_trainer(again, small_guard())
    again.train(resume_from_checkpoint=str(tmp_path / "checkpoint-30"))
    assert guard.budget.steps == 60


def test_a_run_that_is_refused_all_the_time_is_stopped(tmp_path, guard_trainer):
    run = trainer(tmp_path, 1.0, steps=80)
    guard = small_guard()
    guard.budget.window = 100
    guard_trainer(run, guard)
    for example in run.train_dataset:
        example["factor"] = torch.tensor(math.nan)
    run.train()
    assert run.state.global_step == 6


def test_a_run_that_clips_nothing_is_guarded_too(tmp_path, monkeypatch, guard_trainer):
    # transformers 4 measures no norm then, and 5 does.
    monkeypatch.setattr(transformers.Trainer, "_get_grad_norm", lambda *args, **kwargs: None, raising=False)
    told = []
    run = trainer(tmp_path, math.nan, steps=POISON_AT + 2, max_grad_norm=0.0)
    guard_trainer(run, small_guard(), tell=told.append)
    run.train()
    assert [finding.code for finding in told] == ["S901"]
    assert all(torch.isfinite(weight).all() for weight in run.model.parameters())


def test_a_checkpoint_of_another_folder_brings_its_guard(tmp_path, guard_trainer):
    first = trainer(tmp_path / "first", 1.0, save_steps=20, steps=20)
    guard_trainer(first, small_guard())
    first.train()
    again = trainer(tmp_path / "second", 1.0, steps=24)
    guard = guard_trainer(again, small_guard())
    again.train(resume_from_checkpoint=str(tmp_path / "first" / "checkpoint-20"))
    assert guard.budget.steps == 24
    json.dumps(guard.to_dict(), allow_nan=False)


def test_a_checkpoint_without_a_guard_is_said(tmp_path, caplog, guard_trainer):
    first = trainer(tmp_path, 1.0, save_steps=4, steps=4)
    first.train()
    again = trainer(tmp_path, 1.0, steps=6)
    guard = guard_trainer(again)
    again.train(resume_from_checkpoint=True)
    assert guard.budget.steps == 2
    assert "the guard starts over" in caplog.text


class Scaler:
    updated = 0

    def update(self):
        self.updated += 1


def test_a_loss_scaler_is_updated_in_a_refused_step_so_that_the_next_can_be_unscaled(tmp_path, guard_trainer):
    scaler, run = Scaler(), trainer(tmp_path, 1.0)
    guard_trainer(run)
    watch = next(each for each in run.callback_handler.callbacks if hasattr(each, "guard"))
    stepped = []
    fake = type("Fake", (), {"scaler": scaler, "step": lambda self: stepped.append(1)})()
    watch.on_train_begin(run.args, run.state, run.control, optimizer=fake)
    watch.refused = True
    fake.step()
    assert (scaler.updated, stepped) == (1, [])
    watch.refused = False
    fake.step()
    assert (scaler.updated, stepped) == (1, [1])


def test_a_trainer_has_one_guard_and_an_engine_that_lets_it_judge(tmp_path, monkeypatch, guard_trainer):
    run = trainer(tmp_path, 1.0)
    guard = guard_trainer(run)
    with pytest.raises(InputError, match="is guarded already"):
        guard_trainer(run)
    other = trainer(tmp_path, 1.0)
    with pytest.raises(InputError, match="guard_trainer: guard: judges for another Trainer"):
        guard_trainer(other, guard)
    unchecked = getattr(guard_trainer, "__wrapped__", guard_trainer)  # without the checks of types
    with pytest.raises(InputError, match="guard_trainer: tell: is no function"):
        unchecked(other, tell="print")
    kind = type(other.accelerator.distributed_type)
    monkeypatch.setattr(type(other.accelerator), "distributed_type", kind.DEEPSPEED)
    with pytest.raises(InputError, match=r"where the guard cannot judge first\n  got     DEEPSPEED"):
        guard_trainer(other)
