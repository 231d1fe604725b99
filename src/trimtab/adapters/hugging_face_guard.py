"""The guard in the Trainer of Hugging Face's transformers.

trainer = Trainer(...)
guard_trainer(trainer)
trainer.train()
"""

import json
import logging
import math
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from transformers import Trainer, TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.trainer_utils import get_last_checkpoint

from trimtab.arguments import callable_of, instance_of, wrong
from trimtab.finding import Finding
from trimtab.guard import Guard
from trimtab.world import group_of

GUARD_FILE = "guard.json"
"""Beside `trainer_state.json` in each checkpoint."""
UPDATES_IN_BACKWARD = ("DEEPSPEED", "MEGATRON_LM")
"""Engines that move the weights where no verdict could stop them."""

TAKEN: WeakKeyDictionary[Guard, object] = WeakKeyDictionary()
"""Guards that judge for a Trainer already."""

logger = logging.getLogger(__name__)


def guard_trainer(
    trainer: Trainer, guard: Guard | None = None, *, tell: Callable[[Finding], None] | None = None
) -> Guard:
    """Refuses updates of a Trainer as `Guard` says, stops a run that goes over its budget, and keeps the guard's state
    in the Trainer's checkpoints.

    It judges the sum of the losses that `training_step` gives for the micro-batches of a step, and the gradient norm
    before clipping; over several processes, the mean loss of all ranks, so that they refuse the same steps. A refused
    step calls no optimizer: weights and moments stay, the learning rate continues. `tell` gets each finding; by default
    it is logged as a warning. Each look at the numbers waits for the GPU, once a step.

    InputError for a Trainer that is guarded already, for the guard of another Trainer, and under DeepSpeed or
    Megatron-LM, whose engines make the update themselves.
    """
    trainer = instance_of(
        trainer,
        Trainer,
        name="guard_trainer: trainer",
        allowed="a Trainer of transformers, or of a library that builds on it",
        fix="pass the trainer itself, before trainer.train()",
    )
    guard = instance_of(
        Guard() if guard is None else guard,
        Guard,
        name="guard_trainer: guard",
        allowed="a Guard, or nothing",
        fix="guard_trainer(trainer, Guard(OutlierRule(window=256)))",
    )
    if tell is not None:
        example = "guard_trainer(trainer, tell=lambda finding: print(finding.message))"
        callable_of(
            tell, name="guard_trainer: tell", allowed="a function of one Finding, or nothing", fix=example
        )
    refuse_other_engines(trainer)
    if any(isinstance(each, _Watch) for each in trainer.callback_handler.callbacks):
        raise wrong(
            "guard_trainer: trainer",
            "is guarded already",
            got="a second guard",
            allowed="one guard for each Trainer",
            fix="call guard_trainer once",
        )
    if guard in TAKEN:
        raise wrong(
            "guard_trainer: guard",
            "judges for another Trainer",
            got="the guard of an earlier call of guard_trainer",
            allowed="one guard for each Trainer, whose losses and norms it remembers",
            fix="build a new one: guard_trainer(trainer, Guard())",
        )
    trainer.add_callback(_Watch(trainer, guard, tell or _log))
    TAKEN[guard] = None
    return guard


def refuse_other_engines(trainer: Trainer) -> None:
    """InputError for engines that move the weights by themselves."""
    engine = str(getattr(trainer.accelerator.distributed_type, "value", ""))
    if engine in UPDATES_IN_BACKWARD:
        raise wrong(
            "guard_trainer: trainer",
            "updates the weights where the guard cannot judge first",
            got=engine,
            allowed="one process, DDP or FSDP",
            fix="train with FSDP (`fsdp=` in TrainingArguments), or without a guard",
        )


class _Watch(TrainerCallback):
    """Wraps the public calls that carry loss and norm, and the optimizer's step."""

    def __init__(self, trainer: Trainer, guard: Guard, tell: Callable[[Finding], None]) -> None:
        self.guard, self.tell = guard, tell
        self.losses: list[Any] = []
        self.norm: Any = None  # before clipping
        self.refused = False
        self.optimizer: Any = None
        self.resumed_from: Path | None = None
        self.measure: Callable[[], Any] = lambda: None
        self.listen(trainer)

    def listen(self, trainer: Trainer) -> None:
        """Overhears the losses of the micro-batches, the norm of the whole gradient, and where a run is resumed."""
        training_step: Callable[..., Any] = trainer.training_step
        clip: Callable[..., Any] = trainer.accelerator.clip_grad_norm_  # type: ignore[reportUnknownMemberType]
        train: Callable[..., Any] = trainer.train

        def listened_step(*args: Any, **kwargs: Any) -> Any:
            loss = training_step(*args, **kwargs)
            self.losses.append(loss.detach())
            return loss

        def listened_clip(*args: Any, **kwargs: Any) -> Any:
            norm = clip(*args, **kwargs)
            self.norm = norm if self.norm is None else self.norm
            return norm

        @wraps(train)
        def listened_train(resume_from_checkpoint: Any = None, *args: Any, **kwargs: Any) -> Any:
            found = resume_from_checkpoint
            if found is True:
                found = get_last_checkpoint(str(trainer.args.output_dir))
            self.resumed_from = Path(found) if found else None
            self.losses, self.norm = [], None
            return train(resume_from_checkpoint, *args, **kwargs)

        trainer.training_step = listened_step
        trainer.accelerator.clip_grad_norm_ = listened_clip
        trainer.train = listened_train
        # As transformers 5 does where nothing is to be clipped; 4 then measures nothing.
        self.measure = lambda: clip(trainer.model_wrapped.parameters(), math.inf)

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Continues from the checkpoint that the Trainer has resumed from, and wraps the optimizer."""
        if self.resumed_from is not None:
            self.restore(self.resumed_from / GUARD_FILE)
        optimizer = kwargs["optimizer"]
        if optimizer is not self.optimizer:
            self.optimizer = optimizer
            step = optimizer.step

            # What a scheduler wrote on it stays on it; else it warns about the wrapper.
            @wraps(step)
            def guarded_step(*arguments: Any, **keywords: Any) -> Any:
                if not self.refused:
                    return step(*arguments, **keywords)
                if (scaler := getattr(optimizer, "scaler", None)) is not None:
                    scaler.update()  # gradients of this step were unscaled; without this, those of the next cannot be
                return None

            optimizer.step = guarded_step

    def restore(self, saved: Path) -> None:
        """The state of a checkpoint, as the first rank reads it."""
        text = saved.read_text(encoding="utf-8") if saved.is_file() else ""
        group = group_of(self.guard.ranks, part="guard_trainer")
        text = text if group is None else group.broadcast_text(text)
        if text:
            self.guard.from_dict(json.loads(text))
        else:
            logger.warning("no %s in %s: the guard starts over", GUARD_FILE, saved.parent)

    def on_pre_optimizer_step(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """The verdict, between the gradients and the update."""
        loss = float(sum(float(each) for each in self.losses))
        norm = float(self.measure() if self.norm is None else self.norm)
        verdict = self.guard.judge(loss, norm)
        self.losses, self.norm = [], None
        # A loss scale is found by overflowing now and then; its own scaler skips that step, and must see it to react.
        scaled = getattr(self.optimizer, "scaler", None) is not None
        self.refused = not verdict.apply and not (scaled and not math.isfinite(norm))
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
