"""The guard in the Trainer of Lightning.

trainer = Trainer(callbacks=[GuardCallback()])
trainer.fit(module)
"""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.optim import Optimizer

try:
    from lightning.pytorch.callbacks import Callback
except ModuleNotFoundError:  # the package had this name before, and still has
    from pytorch_lightning.callbacks import Callback  # type: ignore[no-redef]

from trimtab.arguments import callable_of, instance_of, wrong
from trimtab.finding import Finding
from trimtab.guard import Guard
from trimtab.step.clip.gradients import norm_over_ranks

logger = logging.getLogger(__name__)


class GuardCallback(Callback):
    """Refuses updates as `Guard` says, stops a run that goes over its budget, and keeps the guard's state in
    Lightning's checkpoints.

    It judges the losses of a step's backward passes and the gradient norm before clipping, with automatic and with
    manual optimization; over several processes, the mean loss of all ranks, so that they refuse the same steps. In a
    refused step the parameters have no gradient, and optimizers pass over such parameters: weights and moments stay.
    `tell` gets each finding; by default it is logged as a warning. Each look at the numbers waits for the GPU, once a
    step. InputError for a module with several optimizers, and under DeepSpeed, whose engine makes the update itself.
    """

    def __init__(self, guard: Guard | None = None, *, tell: Callable[[Finding], None] | None = None) -> None:
        self.guard = instance_of(
            Guard() if guard is None else guard,
            Guard,
            name="GuardCallback: guard",
            allowed="a Guard, or nothing",
            fix="GuardCallback(Guard(OutlierRule(window=256)))",
        )
        if tell is not None:
            callable_of(
                tell,
                name="GuardCallback: tell",
                allowed="a function of one Finding, or nothing",
                fix="GuardCallback(tell=lambda finding: print(finding.message))",
            )
        self.tell = tell or _log
        self.losses: list[Tensor] = []

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Refuses what it could not guard."""
        self.losses = []
        if len(trainer.optimizers) != 1:
            raise wrong(
                "GuardCallback",
                "guards one optimizer",
                got=f"{len(trainer.optimizers)} optimizers",
                allowed="one, since each has losses and norms of its own size",
                fix="call a Guard for each of them in training_step, with manual optimization",
            )
        if "deepspeed" in type(trainer.strategy).__name__.lower():
            raise wrong(
                "GuardCallback",
                "cannot judge before the update",
                got=type(trainer.strategy).__name__,
                allowed="one device, DDP or FSDP",
                fix="train with FSDP, or without a guard",
            )

    def on_before_backward(self, trainer: Any, pl_module: Any, loss: Tensor) -> None:
        """Overhears the loss of a micro-batch, in its share of the step."""
        scaler = getattr(trainer.precision_plugin, "scaler", None)
        value = loss.detach()
        self.losses.append(value if scaler is None else value / scaler.get_scale())

    @torch.no_grad()
    def on_before_optimizer_step(self, trainer: Any, pl_module: Any, optimizer: Optimizer) -> None:
        """The verdict, between the gradients and the update."""
        parameters = [each for group in optimizer.param_groups for each in group["params"]]
        norm = norm_over_ranks([each.grad for each in parameters if each.grad is not None])
        verdict = self.guard.judge(sum(float(each) for each in self.losses), norm)
        self.losses = []
        # A loss scale is found by overflowing now and then; its scaler has seen it, and skips the step by itself.
        if not verdict.apply:
            for parameter in parameters:
                parameter.grad = None
        if verdict.finding is not None:
            self.tell(verdict.finding)
        if verdict.over_budget:
            trainer.should_stop = True

    def state_dict(self) -> dict[str, Any]:
        """The guard's state, for the checkpoint."""
        return self.guard.to_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes on from a checkpoint."""
        self.guard.from_dict(state_dict)

    if not TYPE_CHECKING:  # else every name would be an attribute for a type checker

        def __getattr__(self, name: str) -> Any:
            """Names the other adapter where transformers takes this for one of its callbacks."""
            if name.startswith("on_"):
                raise AttributeError(
                    f"GuardCallback is a callback of Lightning, and has no {name!r}: for the Trainer of transformers, "
                    "call guard_trainer(trainer, guard) of trimtab.adapters.hugging_face_guard"
                )
            raise AttributeError(f"'GuardCallback' object has no attribute {name!r}")


def _log(finding: Finding) -> None:
    logger.warning("%s", finding)
