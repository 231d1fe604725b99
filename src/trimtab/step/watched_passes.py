"""What the forward and backward passes of a user's functions did: through the wrapped model, and at all."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from trimtab.arguments import wrong
from trimtab.step.step_arguments import divides

MARK = "require_forward_param_sync"
"""An attribute of DistributedDataParallel which every forward pass sets to a bool. An int in its place is as true or
false as it was, and shows whether there was a forward pass, also in compiled code, which calls no hooks."""


@contextmanager
def runs_through(wrappers: Sequence[nn.Module]) -> Iterator[None]:
    """InputError where the forward pass within used none of these modules: DDP would sum no gradients of it.

    FSDP needs no such check: parameters that were not gathered cannot be used.
    """
    watched: list[Any] = [each for each in wrappers if isinstance(each, DistributedDataParallel)]
    known = len(watched) == len(wrappers) > 0 and all(is_watchable(each) for each in watched)
    # Lightning calls the wrapper around the whole training step, and the model itself within.
    active: Any = getattr(DistributedDataParallel, "_active_ddp_module", None)
    if not known or any(active is each for each in watched):
        yield
        return
    for each in watched:
        setattr(each, MARK, int(getattr(each, MARK)))
    try:
        yield
    finally:
        used = [isinstance(getattr(each, MARK), bool) for each in watched]
        for each in watched:
            setattr(each, MARK, bool(getattr(each, MARK)))
    if not any(used):
        raise wrong(
            "accumulate_batches: loss_of(batch)",
            "does not run through the model that is passed as `model=`",
            got="a forward pass in which no DistributedDataParallel was called, so that ranks would not exchange "
            "gradients",
            allowed="a loss computed by calling the wrapped model",
            fix="call what DistributedDataParallel or `prepare` returned in loss_of, not the module inside of it",
        )


def is_watchable(wrapper: Any) -> bool:
    """Whether its forward pass leaves the mark; some settings of DDP leave early."""
    early = ("_use_python_reducer", "_delay_all_reduce_all_params")
    return hasattr(wrapper, MARK) and not any(getattr(wrapper, name, False) for name in early)


class BackwardWatch:
    """Hears whether, and by how much, a backward pass that is not the tensor's own begins at the loss."""

    def __init__(self, share: Tensor) -> None:
        self.gradients: list[Tensor] = []
        share.register_hook(self.gradients.append)

    def refuse(self) -> None:
        """InputError for a backward pass that did nothing, and for one that Accelerate divides by its own number."""
        if not self.gradients:
            raise wrong(
                "accumulate_batches: backward",
                "computes no gradients",
                got="a function that returned without a backward pass from the loss it was given",
                allowed="a function that calls backward on the loss at once, scaled or not",
                fix="`lambda loss: scaler.scale(loss).backward()`, accelerator.backward or fabric.backward",
            )
        times = accelerate_steps()
        if times > 1 and float(self.gradients[0]) < 1:
            raise divides(f"Accelerator(gradient_accumulation_steps={times}) within your function")


def accelerate_steps() -> int:
    """`gradient_accumulation_steps` of Accelerate in this process, 1 where there is none."""
    state: Any = getattr(sys.modules.get("accelerate.state"), "GradientState", None)
    steps = state().num_steps if getattr(state, "_shared_state", None) else 1
    return steps if isinstance(steps, int) else 1
