"""The residual path by depth, and feed-forward units that no token activates, measured on one batch."""

import math
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from trimtab.finding import Finding
from trimtab.run_findings.evaluations import DEAD_UNITS, RESIDUAL_PATH_TOO_LARGE

MOST_RMS = 1e3
"""Root mean square of a residual path; fp16 ends at 65,504, and single elements are far above the mean."""
GROWN_RMS, MOST_GROWTH = 1e2, 8.0
"""A path above the first has grown too fast where one layer raised it by more than the second. Healthy first layers
raise it from 1 to 10, and healthy paths stay below 25 (tests/watch/healthy.json)."""
MOST_DEAD = 0.95
"""Share of a layer's feed-forward units that were 0 for every token. Large healthy models have layers with above 0.7
(Voita et al. 2023, arXiv 2309.04827, section 3)."""
FEWEST_TOKENS = 512
"""With fewer tokens a unit that is merely rare looks dead."""
_NOTHING = 1e-6
"""A unit whose largest output is below this share of its layer's largest is dead, whatever the activation."""


@dataclass(slots=True)
class Activations:
    """What one batch showed, by the names that the modules were given with, in order of depth."""

    entered: dict[str, float] = field(default_factory=dict[str, float])
    """Root mean square of what each block was given."""
    left: dict[str, float] = field(default_factory=dict[str, float])
    """Root mean square of what each block gave on."""
    distinct: dict[str, float] = field(default_factory=dict[str, float])
    """How far apart the vectors that a block gave on are: see `distinctness`."""
    dead: dict[str, float] = field(default_factory=dict[str, float])
    """Share of the units that were 0 for every token."""
    tokens: int = 0
    """The fewest tokens that any unit was judged by."""

    @property
    def last(self) -> float:
        """What the last block gave on; NaN before anything was read."""
        return [math.nan, *self.left.values()][-1]


@contextmanager
def activations(
    blocks: Mapping[str, nn.Module], maps: Mapping[str, nn.Module], *, tokens: Mapping[str, int]
) -> Generator[Activations]:
    """While it is open, looks at each block's first input and output, and at the input of each of `maps`, the linear
    maps after an activation.

    `tokens` says by the same names how many leading rows are real; what follows them is padding. The numbers are
    there once it is closed, fetched from the device together.
    """
    found = Activations()
    numbers: dict[tuple[str, str], Tensor] = {}

    def watch_block(name: str, module: nn.Module, inputs: Any, output: Any) -> None:
        numbers["entered", name] = root_mean_square(rows(inputs[0], tokens[name]))
        given = rows(output, tokens[name])
        numbers["left", name] = root_mean_square(given)
        numbers["distinct", name] = distinctness(given)

    def watch_map(name: str, module: nn.Module, inputs: Any) -> None:
        numbers["dead", name] = dead_units(rows(inputs[0], tokens[name]))

    with ExitStack() as hooks:
        for name, block in blocks.items():
            hooks.callback(block.register_forward_hook(_named(watch_block, name)).remove)
        for name, each in maps.items():
            hooks.callback(each.register_forward_pre_hook(_named(watch_map, name)).remove)
        yield found
    if numbers:
        for (kind, name), value in zip(numbers, torch.stack([*numbers.values()]).tolist(), strict=True):
            getattr(found, kind)[name] = value
    found.tokens = min((tokens[name] for name in maps), default=0)


def rows(x: Tensor, tokens: int) -> Float[Tensor, "tokens width"]:
    """The leading vectors of a tensor, flat."""
    return x.detach().flatten(0, -2)[:tokens]


def distinctness(x: Float[Tensor, "tokens width"]) -> Float[Tensor, ""]:
    """The norm of what is left of some vectors without their mean, as a share of theirs: 0 where all of them are the
    same, which is a collapse of their rank to one (Dong et al. 2021, arXiv 2103.03404, section 2.1)."""
    x = x.float()
    return (x - x.mean(0)).norm() / x.norm().clamp(min=1e-12)


def root_mean_square(x: Float[Tensor, "tokens width"]) -> Float[Tensor, ""]:
    """Over all elements, in float32."""
    return x.float().square().mean().sqrt()


def dead_units(hidden: Float[Tensor, "tokens units"]) -> Float[Tensor, ""]:
    """The share of the units that are 0 for every token: exactly, as after a ReLU, or next to the others."""
    largest = hidden.float().abs().amax(0)
    return (largest <= _NOTHING * largest.max()).float().mean()


def out_of_bounds(found: Activations) -> list[Finding]:
    """M903 where the residual path is not finite, far too large, or grows too fast; M904 where most units are dead."""
    return [each for each in (not_finite(found), too_large(found), dead_layers(found)) if each]


def not_finite(found: Activations) -> Finding | None:
    """M903 of the first block that gave on what is no number, though it was given some."""
    wrong = [name for name, value in found.left.items() if not math.isfinite(value)]
    if not wrong:
        return None
    return _large("error", f"the residual path is not finite from {wrong[0]} on")


def too_large(found: Activations) -> Finding | None:
    """M903 of the largest root mean square, or the fastest growth, where it is out of bounds."""
    finite = {name: value for name, value in found.left.items() if math.isfinite(value)}
    if not finite:
        return None
    largest = max(finite, key=finite.__getitem__)
    if finite[largest] > MOST_RMS:
        seen = f"the residual path has a root mean square of {finite[largest]:.4g} after {largest} (bound {MOST_RMS:g})"
        return _large("warning", seen)
    for name, after in finite.items():
        before = found.entered[name]
        if after > GROWN_RMS and after > MOST_GROWTH * before:
            seen = f"{name} raises the root mean square of the residual path from {before:.3g} to {after:.3g}"
            return _large(
                "warning", f"{seen} (bounds: above {GROWN_RMS:g}, by more than {MOST_GROWTH:g} times)"
            )
    return None


def dead_layers(found: Activations) -> Finding | None:
    """M904 of the layers most of whose units are dead, where tokens enough were read."""
    worst = {name: share for name, share in found.dead.items() if share > MOST_DEAD}
    if not worst or found.tokens < FEWEST_TOKENS:
        return None
    return DEAD_UNITS.found(
        f"of the feed-forward units of {listed([*worst])} up to {max(worst.values()):.1%} were 0 for each of "
        f"{found.tokens} tokens or more (bound {MOST_DEAD:.0%})"
    )


def listed(names: Sequence[str], *, most: int = 4) -> str:
    """The first names and how many more."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _large(severity: Any, seen: str) -> Finding:
    return RESIDUAL_PATH_TOO_LARGE.found(seen, severity=severity)


def _named(hook: Any, name: str) -> Any:
    return lambda *given: hook(name, *given)
