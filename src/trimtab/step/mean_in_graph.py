"""Means over the targets of a batch where a sum is needed, as the graph of the loss shows them.

Only what is certain is refused. The loss is a sum of terms, each with the constants that it is multiplied by; a term is
certainly a mean

- by a mean at its root that nothing was multiplied into since (`1.0 *` may be 0.1 times ten targets), or
- by constants that stay, after a mean, or fall, after a sum, while the number of targets grows from one micro-batch to
  another.
"""

import math
from typing import Any, NamedTuple

from torch import Tensor

from trimtab.arguments import wrong
from trimtab.errors import InputError

MEAN = 1
"""The number of `reduction="mean"` in what autograd saves of a loss."""
SAME_VALUE = ("ToCopy", "View", "UnsafeView", "Squeeze", "Unsqueeze", "Alias", "Clone")
"""What gives a number another form or precision."""
OF_PARTS = ("StackBackward", "CatBackward", "SumBackward")
"""What makes a few numbers of parts, such as the sums of several heads; their mean is one over targets only where there
are as many of them as targets, in every micro-batch."""
MOST_NODES = 64
"""A loss of more operations than this was not put together from a few terms."""
SAME, OTHER = 1e-5, 1e-2
"""Relative differences up to which two constants are equal, and from which two numbers of targets are different."""


class Term(NamedTuple):
    """One term of a loss."""

    node: Any
    """The operation that made it, before constants."""
    scale: float | None
    """The product of all constants; None where one lies on another device, which would have to be waited for."""
    multiplied: bool
    """Whether one of them is a factor, since a sum is made of a mean by multiplying."""


class SeenLoss(NamedTuple):
    """The terms of one micro-batch's loss."""

    num_targets: int
    terms: list[Term]
    means: list[bool]
    """Which of them are means."""


def refuse_mean(loss: Tensor, *, num_targets: int, before: list[SeenLoss]) -> None:
    """InputError where a mean over the targets is certainly in the loss. `before` has the losses of the step's other
    micro-batches, and gets this one. Other losses are taken at their word."""
    terms = terms_of(loss.grad_fn)
    now = SeenLoss(num_targets, terms, [is_mean(term.node, num_targets) for term in terms])
    if num_targets > 1 and is_visible(now):
        raise a_mean(f"a mean, as its graph shows, of a batch for which num_targets gave {num_targets}")
    for other in before:
        if stays_a_mean(other, now):
            counts = f"{other.num_targets} and {num_targets}"
            raise a_mean(
                f"a loss whose constants show a mean in two batches, for which num_targets gave {counts}"
            )
    before.append(now)


def a_mean(got: str) -> InputError:
    """What is said of a mean."""
    return wrong(
        "accumulate_batches: loss_of(batch)",
        "is a mean, so that targets of short batches would weigh more",
        got=got,
        allowed="the loss summed over the targets of the batch",
        fix='use reduction="sum", or multiply the mean by the number of targets. With `labels=`, a model of '
        "transformers gives a mean: compute the loss from its logits, or pass `num_items_in_batch=1` too",
    )


def terms_of(root: Any) -> list[Term]:
    """The terms that a loss of one number is the sum of; none where there are too many to be sure of anything."""
    found: list[Term] = []
    waiting = [Term(root, 1.0, multiplied=False)]
    for _ in range(MOST_NODES):
        if not waiting:
            return found
        term = waiting.pop()
        following = before_constants(term)
        if following is None:
            found.append(term)
        else:
            waiting += following
    return []


def before_constants(term: Term) -> list[Term] | None:
    """The terms that an operation took, where it adds them, changes their form, or has a constant factor; else None."""
    node, name = term.node, name_of(term.node)
    if is_smoothed_mean(node):
        return None
    inputs = [each for each, _ in node.next_functions]
    if name.startswith(SAME_VALUE) and len(inputs) == 1:
        return [term._replace(node=inputs[0])]
    if name.startswith("Neg"):
        return [scaled(term, inputs[0], -1.0)]
    if name.startswith(("AddBackward", "SubBackward")):
        # A constant that is added has no gradient, and counts for nothing here.
        alpha = constant(node, "alpha") if name.startswith("Add") else minus(constant(node, "alpha"))
        factors = (1.0, alpha)
        return [
            scaled(term, each, factor)
            for each, factor in zip(inputs, factors, strict=False)
            if each is not None
        ]
    if name.startswith("MulBackward") and sum(each is not None for each in inputs) == 1:
        of = next(each for each in inputs if each is not None)
        factor = constant(node, "self") if inputs[0] is None else constant(node, "other")
        return [scaled(term, of, factor)._replace(multiplied=True)]
    if name.startswith("DivBackward") and inputs[0] is not None and inputs[1:] in ([], [None]):
        by = constant(node, "other")
        found = scaled(term, inputs[0], 1 / by if by else None)
        return [found._replace(multiplied=term.multiplied or by is None or abs(by) < 1)]
    if name.startswith("MeanBackward") and inputs[0] is not None and name_of(inputs[0]).startswith(OF_PARTS):
        return [scaled(term, inputs[0], 1 / (size_before(node) or 1))]
    return None


def constant(node: Any, name: str) -> float | None:
    """A constant that autograd saved; None where that would have to be waited for, or cannot be had."""
    try:
        value = getattr(node, f"_saved_{name}")
        if isinstance(value, Tensor) and (value.device.type != "cpu" or value.numel() != 1):
            return None
        return None if value is None else float(value)
    except (RuntimeError, AttributeError, TypeError, ValueError):
        return None


def minus(factor: float | None) -> float | None:
    """The number with the other sign."""
    return None if factor is None else -factor


def scaled(term: Term, node: Any, factor: float | None) -> Term:
    """The term before a constant changed it."""
    scale = None if factor is None or term.scale is None else term.scale * factor
    return term._replace(node=node, scale=scale)


def size_before(node: Any) -> int:
    """Of how many numbers an operation made one."""
    return math.prod(int(size) for size in node._saved_self_sym_sizes)


def is_mean(node: Any, num_targets: int) -> bool:
    """Whether an operation takes a mean of at least so many numbers."""
    if getattr(node, "_saved_reduction", None) == MEAN or is_smoothed_mean(node):
        return True
    return name_of(node).startswith("MeanBackward") and size_before(node) >= num_targets


def name_of(node: Any) -> str:
    """The name of an operation of the graph. In torch 2.11 a custom `autograd.Function` has none but its class."""
    try:
        return node.name()
    except RuntimeError:
        return type(node).__name__


def is_smoothed_mean(node: Any) -> bool:
    """Whether it is the sum in which PyTorch's own cross-entropy ends with `label_smoothing` and a mean: its two parts
    have factors that are no tensors, which no product written in Python has."""
    parts = [each for each, _ in node.next_functions]
    if not name_of(node).startswith("AddBackward") or len(parts) != 2:
        return False
    if any(each is None or name_of(each) != "MulBackward1" for each in parts):
        return False
    return is_class_mean(parts[0].next_functions[0][0])


def is_class_mean(node: Any) -> bool:
    """Whether it is the mean of a cross-entropy, which is one over its labels."""
    if node is None:
        return False
    return is_smoothed_mean(node) or (
        name_of(node).startswith("NllLoss") and getattr(node, "_saved_reduction", None) == MEAN
    )


def is_over_targets(node: Any, num_targets: int) -> bool:
    """Whether it is the mean of a cross-entropy with at least so many labels, ignored ones among them."""
    if not is_class_mean(node):
        return False
    if is_smoothed_mean(node):
        node = node.next_functions[0][0].next_functions[0][0]
    try:
        return node._saved_target.numel() >= num_targets
    except RuntimeError:  # freed already
        return False


def is_visible(seen: SeenLoss) -> bool:
    """Whether a loss is seen to be a mean by itself: all of its terms are, or one that is certainly over targets. As
    many means as targets may be those of sequences, each of which counts as one target."""
    unchanged = [mean and not term.multiplied for term, mean in zip(seen.terms, seen.means, strict=True)]
    if not 0 < sum(seen.means) < seen.num_targets:
        return False
    over_targets = (
        plain and is_over_targets(term.node, seen.num_targets)
        for term, plain in zip(seen.terms, unchanged, strict=True)
    )
    return all(unchanged) or any(over_targets)


def stays_a_mean(one: SeenLoss, other: SeenLoss) -> bool:
    """Whether the constants of two losses with different numbers of targets are those of means."""
    counts = sorted((one.num_targets, other.num_targets))
    if counts[0] < 1 or counts[1] - counts[0] < OTHER * counts[1] or len(one.terms) != len(other.terms):
        return False
    constant_means: list[bool] = []
    for first, second, are_means in zip(
        one.terms, other.terms, zip(one.means, other.means, strict=True), strict=True
    ):
        if first.scale is None or second.scale is None or name_of(first.node) != name_of(second.node):
            return False
        if math.isclose(
            first.scale * one.num_targets, second.scale * other.num_targets, rel_tol=SAME, abs_tol=0.0
        ):
            return first.scale != 0
        constant_means.append(all(are_means) and math.isclose(first.scale, second.scale, rel_tol=SAME))
    few = 0 < sum(constant_means) < counts[1]
    certain = any(
        kept and all(is_over_targets(each.terms[index].node, each.num_targets) for each in (one, other))
        for index, kept in enumerate(constant_means)
    )
    return few and (all(constant_means) or certain)
