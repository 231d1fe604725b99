"""Steps whose gradients are used and dropped within the backward pass, one tensor at a time."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from trimtab.step.clip.global_norm import GlobalNormClip, factor_to_norm
from trimtab.step.clip.protocol import Clip
from trimtab.step.judge import judge
from trimtab.step.loss_scale import LossScale
from trimtab.step.numbers import Counts, Measures, StepNumbers
from trimtab.step.optimizer.protocol import Optimizer, UpdatesTensors
from trimtab.step.outlier_gate import OutlierGate
from trimtab.step.take_step import report_of
from trimtab.types import Batch, LossOutput, SkipReason, StepReport


class ReleasedSteps:
    """Takes steps as `take_step` does, without ever holding all gradients. Source: Lv et al., arXiv 2306.09782, whose
    second backward pass for the norm is its own too.

    Where gradients are clipped to a global norm, the first backward pass measures it and drops every gradient; verdict
    and factor are known then, and the second pass updates: the same update as `take_step` makes, at the cost of another
    backward pass. Without clipping there is one pass: the loss is judged before it, and a tensor whose gradient is not
    finite stays as it is while those behind it have moved; such a step is reported as not finite.
    """

    def take_step(
        self,
        objective: Callable[[Batch], LossOutput],
        optimizer: Optimizer,
        batches: Sequence[Batch],
        *,
        clip: Clip,
        scale: LossScale,
        learning_rate: float,
        gate: OutlierGate | None = None,
    ) -> StepReport:
        """See `take_step`. A step has one micro-batch; where its sources do not fit into one, all of them are kept for
        the same backward pass."""
        assert isinstance(optimizer, UpdatesTensors), "a recipe with released gradients has such an optimizer"
        assert isinstance(clip, GlobalNormClip), (
            "a recipe with released gradients clips the global norm or nothing"
        )
        assert not scale.enabled, "a recipe with released gradients has no loss scale"
        counts = Counts.of(batches)
        masked = gate is not None and gate.masked
        numbers = StepNumbers.of(counts, learning_rate=learning_rate, masked=masked, device=batches[0].device)
        with no_gradients(optimizer.named.values()):
            out = together([objective(batch) for batch in batches])
            share = out.objective / numbers.targets
            total = LossOutput(share.detach(), out.loss.detach() / numbers.targets, out.truncated)
            taken = one_pass if clip.at is None else two_passes
            grad_norm, clipped, skip_reason = taken(
                share, total, optimizer, numbers, at=clip.at, scale=scale, gate=gate
            )
        if gate is not None:
            gate.after(skip_reason > 0)
        measures = Measures(total.loss, total.objective, grad_norm, clipped, skip_reason, total.truncated)
        return report_of(measures, counts, learning_rate=learning_rate)


def together(outs: Sequence[LossOutput]) -> LossOutput:
    """The sums over micro-batches, for one backward pass, in which each weight has one gradient."""
    first, *others = outs
    for each in others:
        truncated = (
            None if first.truncated is None or each.truncated is None else first.truncated + each.truncated
        )
        first = LossOutput(first.objective + each.objective, first.loss + each.loss, truncated)
    return first


def two_passes(
    share: Float[Tensor, ""],
    total: LossOutput,
    optimizer: UpdatesTensors,
    numbers: StepNumbers,
    *,
    at: float | None,
    scale: LossScale,
    gate: OutlierGate | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Norm, share of clipped tensors and verdict: a backward pass that measures, and one that updates."""
    norms: dict[str, Tensor] = {}

    def measure(name: str, parameter: nn.Parameter) -> None:
        norms[name] = norm_of(parameter)

    with each_gradient(optimizer.named, measure):
        share.backward(retain_graph=True)
    grad_norm, clipped, factor = factor_to_norm(norm_together(norms, optimizer.named, like=share), at=at)
    skip_reason = judge(total, grad_norm, scale=scale, gate=gate)
    skip_reason = torch.where(numbers.masked, SkipReason.MASKED.value, skip_reason)
    skipped = skip_reason > 0

    def update(name: str, parameter: nn.Parameter) -> None:
        assert parameter.grad is not None
        parameter.grad.mul_(factor)
        optimizer.update_tensor(name, learning_rate=numbers.learning_rate, skip=skipped)

    with each_gradient(optimizer.named, update):
        share.backward()
    optimizer.after_update(skip=skipped)
    return grad_norm, clipped, skip_reason


def one_pass(
    share: Float[Tensor, ""],
    total: LossOutput,
    optimizer: UpdatesTensors,
    numbers: StepNumbers,
    *,
    at: float | None,
    scale: LossScale,
    gate: OutlierGate | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The same with one backward pass, for gradients that are not clipped (`at` is None)."""
    nothing = torch.zeros_like(total.objective)
    reason = judge(total, nothing, scale=scale)
    if gate is not None:
        reason = torch.where((reason == 0) & gate.of_loss(total.loss), SkipReason.LOSS_SPIKE.value, reason)
    reason = torch.where(numbers.masked, SkipReason.MASKED.value, reason)
    norms: dict[str, Tensor] = {}

    def update(name: str, parameter: nn.Parameter) -> None:
        norms[name] = norm_of(parameter)
        skip = (reason > 0) | not_finite(norms[name])
        optimizer.update_tensor(name, learning_rate=numbers.learning_rate, skip=skip)

    with each_gradient(optimizer.named, update):
        share.backward()
    grad_norm = norm_together(norms, optimizer.named, like=share)
    if gate is not None:
        gate.now_known(grad_norm)
    reason = torch.where((reason == 0) & not_finite(grad_norm), SkipReason.NOT_FINITE.value, reason)
    optimizer.after_update(skip=reason > 0)
    return grad_norm, nothing, reason


def not_finite(norm: Float[Tensor, ""]) -> Bool[Tensor, ""]:
    """Whether a norm is infinite or NaN; stays on the device."""
    return norm - norm != 0


@torch.no_grad()
def norm_of(parameter: nn.Parameter) -> Float[Tensor, ""]:
    """The norm of a gradient, in float32 or wider."""
    assert parameter.grad is not None
    if parameter.grad.dtype.itemsize < 4:
        return torch.linalg.vector_norm(parameter.grad, dtype=torch.float32)
    return torch._foreach_norm([parameter.grad])[0]  # the same bits as those of kept gradients


def norm_together(norms: Mapping[str, Tensor], named: Mapping[str, object], *, like: Tensor) -> Tensor:
    """The norm of all gradients, from that of each, in the optimizer's order."""
    found = [norms[name] for name in named if name in norms]
    return torch.linalg.vector_norm(torch.stack(found)) if found else torch.zeros_like(like)


@contextmanager
def each_gradient(
    named: Mapping[str, nn.Parameter], take: Callable[[str, nn.Parameter], None]
) -> Iterator[None]:
    """In a backward pass within, each gradient is handed over as soon as it is complete, and dropped after that.

    A weight that is used in several places is handed over once, when all of them have added to its gradient.
    """

    def hook(name: str) -> Callable[[Tensor], None]:
        def handed_over(_: Tensor) -> None:
            with torch.no_grad():
                take(name, named[name])
            named[name].grad = None

        return handed_over

    handles = [each.register_post_accumulate_grad_hook(hook(name)) for name, each in named.items()]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def no_gradients(parameters: Iterable[nn.Parameter]) -> Iterator[None]:
    """Within and afterwards no gradient lies on the weights, also where a pass broke off."""
    listed = list(parameters)
    for each in listed:
        each.grad = None
    try:
        yield
    finally:
        for each in listed:
            each.grad = None
