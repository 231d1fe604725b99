"""The largest micro-batch, and the largest rank of an adapter, by training steps of the worst case until one fails."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trimtab.config.load import load_recipe
from trimtab.config.run import Recipe
from trimtab.errors import input_error
from trimtab.fit.memory_size import in_gib
from trimtab.probing import Limit, run_probe
from trimtab.progress import Progress, Silent

HIGHEST_RANK = 512
MICRO_BATCH, RANK = "step.tokens_per_micro_batch", "adapter.rank"

Probe = Callable[[Sequence[str]], dict[str, Any]]
"""Trains the worst case with these overrides in a process of its own; what `trimtab.probing.probed` gives."""


@dataclass(frozen=True, slots=True)
class SizeTried:
    """One probe."""

    value: int
    fits: bool
    bytes: int
    """Of the process at the peak: of the GPU, by the driver's figure, or of the host; 0 where it ran out."""
    seconds_per_step: float
    tokens_per_second: float
    """Of a step in which every slot is taken."""
    said: str
    """Why it does not fit."""


@dataclass(frozen=True, slots=True)
class Largest:
    """What was found."""

    name: str
    key: str
    value: int
    fits: bool
    """Whether any value fits; `value` is then the largest."""
    tried: tuple[SizeTried, ...]
    """In the order of their values, largest first."""
    current: int
    limit: int
    """Bytes that it had to fit in."""
    device: str
    others: Mapping[str, int]
    """What did not change: tokens per step, the longest example."""

    @property
    def fastest(self) -> SizeTried | None:
        """Of those that fit, the one with the most tokens per second."""
        return max(
            (each for each in self.tried if each.fits), key=lambda each: each.tokens_per_second, default=None
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        fastest = self.fastest
        return {
            "recipe": self.name,
            "key": self.key,
            "largest": self.value if self.fits else None,
            "fastest": fastest.value if fastest else None,
            "current": self.current,
            "device": self.device,
            "limit": self.limit,
            **self.others,
            "tried": [
                {
                    "value": each.value,
                    "fits": each.fits,
                    "bytes": each.bytes,
                    "seconds_per_step": each.seconds_per_step,
                    "tokens_per_second": each.tokens_per_second,
                    "said": each.said,
                }
                for each in self.tried
            ],
        }


def find_micro_batch(
    recipe: Path | str,
    *,
    overrides: Sequence[str] = (),
    memory: int | None = None,
    progress: Progress | None = None,
) -> Largest:
    """The largest `step.tokens_per_micro_batch` with which a recipe trains in this machine's memory, or in `memory`
    bytes.

    A step is cut into equal parts, so that only whole numbers of them are tried; `tokens_per_step`, and with it the
    arithmetic, stays. Each value has a process of its own. Raises InputError for a wrong recipe, RunFailed where a
    probe fails for another reason than memory.
    """
    loaded = load_recipe(recipe, overrides)
    probe = probe_of(Path(recipe), overrides, memory=memory)
    return largest_micro_batch(loaded.recipe, Path(recipe).name, probe, progress=progress or Silent())


def find_rank(
    recipe: Path | str,
    *,
    overrides: Sequence[str] = (),
    memory: int | None = None,
    progress: Progress | None = None,
) -> Largest:
    """The largest `adapter.rank`, from 512 down in halves, with which the longest examples of a recipe train in this
    machine's memory, or in `memory` bytes. See `find_micro_batch`. Raises InputError where there is no adapter."""
    loaded = load_recipe(recipe, overrides)
    probe = probe_of(Path(recipe), overrides, memory=memory)
    return largest_rank(loaded.recipe, Path(recipe).name, probe, progress=progress or Silent())


def probe_of(recipe: Path, overrides: Sequence[str], *, memory: int | None) -> Probe:
    """Probes of a recipe."""
    limit = Limit(memory=memory, needs_gpu=False)
    return lambda changes: run_probe(recipe, [*overrides, *changes], limit=limit)


def largest_micro_batch(recipe: Recipe, name: str, probe: Probe, *, progress: Progress) -> Largest:
    """By halving the number of micro-batches that may be needed."""
    step = recipe.step
    if step.gradients == "released":
        raise input_error(
            "step.gradients: a step with released gradients is one micro-batch",
            got="released",
            allowed="kept",
            fix="add `step.gradients=kept` to the command, or see `trimtab fit --solve length`",
        )
    least = recipe.facts.targets_of_longest(recipe.data.max_tokens)
    whole = step.tokens_per_step
    values = sizes_of_step(whole, least=least)
    return _searched(
        recipe, name, MICRO_BATCH, values, probe, current=step.micro_batch_tokens, progress=progress
    )


def sizes_of_step(whole: int, *, least: int) -> list[int]:
    """Sizes of a micro-batch that cut a step into 1, 2, 3, ... equal parts, as long as the longest example fits in."""
    sizes = [whole]
    for parts in range(2, whole + 1):
        size = -(-whole // parts)
        if size < least:
            break
        if size != sizes[-1]:
            sizes.append(size)
    return sizes


def largest_rank(recipe: Recipe, name: str, probe: Probe, *, progress: Progress) -> Largest:
    """By halving the list of ranks."""
    if recipe.adapter is None:
        raise input_error(
            "adapter: the recipe has none, so there is no rank to find",
            got="no `adapter`",
            allowed="a recipe with `adapter: {kind: lora}`",
            fix="`trimtab init fine_tune` writes one; or `trimtab find micro-batch` for this recipe",
        )
    ranks = [HIGHEST_RANK >> each for each in range(HIGHEST_RANK.bit_length())]
    return _searched(recipe, name, RANK, ranks, probe, current=recipe.adapter.rank, progress=progress)


def _searched(
    recipe: Recipe,
    name: str,
    key: str,
    values: Sequence[int],
    probe: Probe,
    *,
    current: int,
    progress: Progress,
) -> Largest:
    """The first value that fits, of values that fall; memory falls with them."""
    tried: dict[int, SizeTried] = {}
    said: dict[str, Any] = {}

    def fits(place: int) -> bool:
        value = values[place]
        found = probe([f"{key}={value}"])
        if found["limit"]:  # a process that was killed knows neither limit nor device
            said.update(found)
        tried[value] = as_tried(value, found)
        progress.message(f"{key}={value}: {size_line(tried[value])}")
        return tried[value].fits

    low, high = 0, len(values) - 1
    if not fits(low):
        low += 1
        while low < high:  # the answer is in low..high, or there is none
            middle = (low + high) // 2
            if fits(middle):
                high = middle
            else:
                low = middle + 1
        if low < len(values) and values[low] not in tried:
            fits(low)
    largest = next((each for each in sorted(tried, reverse=True) if tried[each].fits), None)
    return Largest(
        name=name,
        key=key,
        value=largest or values[-1],
        fits=largest is not None,
        tried=tuple(tried[each] for each in sorted(tried, reverse=True)),
        current=current,
        limit=int(said.get("limit", 0)),
        device=str(said.get("gpu", "")),
        others={"tokens_per_step": recipe.step.tokens_per_step}
        | ({} if recipe.facts.reads_images else {"max_tokens": recipe.data.max_tokens}),
    )


def as_tried(value: int, found: Mapping[str, Any]) -> SizeTried:
    """What a probe gave."""
    measured = found["measured"]
    size = int(measured.get("process", 0))
    seconds = float(found.get("seconds_per_step") or 0.0)
    ran_out = str(found["out_of_memory"])
    if not ran_out and size > found["limit"]:
        ran_out = f"needs {in_gib(size)}"
    tokens = float(found.get("tokens") or 0) / seconds if seconds else 0.0
    return SizeTried(value, not ran_out, 0 if found["out_of_memory"] else size, seconds, tokens, ran_out)


def size_line(tried: SizeTried) -> str:
    """One probe in words."""
    if not tried.fits:
        return f"does not fit: {tried.said}"
    return f"fits in {in_gib(tried.bytes)}, {tried.tokens_per_second:,.0f} tokens/s"


def as_text(found: Largest) -> str:
    """The result in lines, with what to write into the recipe."""
    lines = [f"{found.name} on {found.device}, within {in_gib(found.limit)}", ""]
    for each in found.tried:
        lines.append(f"  {found.key}={each.value:<8} {size_line(each)}")
    lines.append("")
    if not found.fits:
        lines += [f"Not even {found.key}={found.value} fits. `trimtab fit RECIPE` proposes other changes."]
        return "\n".join(lines) + "\n"
    lines.append(f"largest that fits: {found.key}={found.value} (the recipe has {found.current})")
    fastest = found.fastest
    if fastest is not None and fastest.value != found.value and found.key == MICRO_BATCH:
        lines.append(f"fastest of these: {found.key}={fastest.value}")
    stays = f"step.tokens_per_step stays {found.others['tokens_per_step']:,}"
    longest = found.others.get("max_tokens")
    lines.append(f"{stays}." if longest is None else f"{stays}; examples have at most {longest:,} tokens.")
    return "\n".join(lines) + "\n"
