"""The guard in the Trainer of Hugging Face's transformers.

trainer = Trainer(...)
guard_trainer(trainer)
trainer.train()
"""

import json
import logging
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

from transformers import Trainer, TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from trimtab.finding import Finding
from trimtab.guard import Guard

GUARD_FILE = "guard.json"
"""Beside `trainer_state.json` in each checkpoint."""

logger = logging.getLogger(__name__)


def guard_trainer(
    trainer: Trainer, guard: Guard | None = None, *, tell: Callable[[Finding], None] | None = None
) -> Guard:
    """Refuses updates of a Trainer as `Guard` says, stops a run that goes over its budget, and keeps the guard's state
    in the Trainer's checkpoints.

    It judges the sum of the losses that `training_step` gives for the micro-batches of a step, and the gradient norm
    before clipping. A refused step calls no optimizer: weights and moments stay, the learning rate goes on. `tell` gets
    each finding; by default it is logged as a warning. Each look at the numbers waits for the GPU, once a step.
    """
    guard = guard or Guard()
    watch = _Watch(trainer, guard, tell or _log)
    trainer.add_callback(watch)
    return guard


class _Watch(TrainerCallback):
    """Wraps the public calls that carry loss and norm, and the optimizer's step."""

    def __init__(self, trainer: Trainer, guard: Guard, tell: Callable[[Finding], None]) -> None:
        self.guard, self.tell = guard, tell
        self.losses: list[Any] = []
        self.norm: Any = None  # before clipping
        self.refused = False
        self.optimizer: Any = None
        self.listen(trainer)

    def listen(self, trainer: Trainer) -> None:
        """Overhears the losses of the micro-batches, and the norm of the whole gradient."""
        training_step: Callable[..., Any] = trainer.training_step
        clip: Callable[..., Any] = trainer.accelerator.clip_grad_norm_  # type: ignore[reportUnknownMemberType]

        def listened_step(*args: Any, **kwargs: Any) -> Any:
            loss = training_step(*args, **kwargs)
            self.losses.append(loss)
            return loss

        def listened_clip(*args: Any, **kwargs: Any) -> Any:
            norm = self.norm = clip(*args, **kwargs)
            return norm

        trainer.training_step = listened_step
        trainer.accelerator.clip_grad_norm_ = listened_clip

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Continues from the checkpoint that the Trainer has resumed from, and wraps the optimizer."""
        saved = Path(args.output_dir or ".") / f"checkpoint-{state.global_step}" / GUARD_FILE
        if state.global_step and saved.is_file():
            self.guard.from_dict(json.loads(saved.read_text(encoding="utf-8")))
        optimizer = kwargs["optimizer"]
        if optimizer is not self.optimizer:
            self.optimizer = optimizer
            step = optimizer.step

            # What a scheduler wrote on it stays on it; else it warns about the wrapper.
            @wraps(step)
            def guarded_step(*arguments: Any, **keywords: Any) -> Any:
                return None if self.refused else step(*arguments, **keywords)

            optimizer.step = guarded_step

    def on_pre_optimizer_step(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """The verdict, between the gradients and the update."""
        loss = float(sum(float(each) for each in self.losses))
        verdict = self.guard.judge(loss, float(self.norm))
        self.losses, self.norm = [], None
        # A loss scale is found by overflowing now and then; its own scaler skips that step, and must see it to react.
        scaled = getattr(self.optimizer, "scaler", None) is not None
        overflow = verdict.finding is not None and verdict.finding.code == "S901"
        self.refused = not verdict.apply and not (scaled and overflow)
        if verdict.finding is not None:
            self.tell(verdict.finding)
        if verdict.over_budget:
            control.should_training_stop = True

    def on_save(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """The guard's state, beside the Trainer's."""
        folder = Path(args.output_dir or ".") / f"checkpoint-{state.global_step}"
        if folder.is_dir() and state.is_world_process_zero:
            text = json.dumps(self.guard.to_dict(), allow_nan=False)
            (folder / GUARD_FILE).write_text(text, encoding="utf-8")


def _log(finding: Finding) -> None:
    logger.warning("%s", finding)
