"""The sizes of a model, by the name of a preset or key by key, and whether they fit together."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from trimtab.config.positions import Combined, PositionSettings
from trimtab.config.settings import refused
from trimtab.units import Duration


def filled_from_preset(value: Any, presets: Mapping[str, Mapping[str, Any]]) -> Any:
    """What is given, with what it leaves open as its preset has it; every size that stays open is refused at once.

    A key that `base` has is a size. What is no group of keys is left for others to complain of.
    """
    if not isinstance(value, dict):
        return value
    given = cast("dict[str, Any]", value)
    preset = given.get("preset")
    base = presets["base"]
    # An unknown preset is reported once, by its own field, not again by every size that it leaves open.
    sizes: Mapping[str, Any] = {} if preset is None else presets.get(str(preset), base)
    filled = {**sizes, **given}
    missing = [key for key in base if key not in filled]
    if missing:
        raise refused(
            missing[0] if len(missing) == 1 else "",
            f"{', '.join(missing)}: not given, and no preset is named to fill it",
            got=", ".join(key for key in base if key in filled) or "no size",
            allowed=f"all of {', '.join(base)}, or a preset: {', '.join(presets)}",
            fix=f"name a preset, such as `preset: tiny`, or write {', '.join(f'`{key}`' for key in missing)}",
        )
    return filled


def check_dim_of_planes(dim: int) -> None:
    """Raises a refusal where the width can't hold the sines and cosines of both a row and a column."""
    if dim % 4:
        raise refused(
            "dim",
            "is not a multiple of 4, which the sines of rows and columns need",
            got=str(dim),
            allowed="a multiple of 4",
            fix=f"set `dim: {dim + -dim % 4}`",
        )


def check_heads(
    dim: int, heads: int, kv_heads: int | None, *, key: str = "heads", kv_key: str = "kv_heads"
) -> None:
    """Raises a refusal where heads do not divide the width, or those of keys and values do not divide the heads."""
    if dim % heads:
        near = near_divisor(dim, heads)
        raise refused(
            key,
            f"{heads} heads do not divide dim {dim}",
            got=str(heads),
            allowed=f"a divisor of {dim}, such as {near}",
            fix=f"set `{key}: {near}`, or a dim that {heads} divides",
        )
    kept = kv_heads or heads
    if heads % kept:
        raise refused(
            kv_key,
            f"{heads} heads cannot share {kept} heads of keys and values evenly",
            got=str(kept),
            allowed=f"a divisor of {heads}: {', '.join(map(str, divisors(heads)))}",
            fix=f"set `{kv_key}: {near_divisor(heads, kept)}`",
        )


def check_rotation(
    dim: int, heads: int, positions: PositionSettings, *, instead: str, key: str = "positions"
) -> None:
    """Raises a refusal where positions rotate pairs of numbers and a head has an odd one; `instead` are others."""
    size = dim // heads
    if positions.rotates and size % 2:
        raise refused(
            key,
            f"{positions.kind} needs an even head size, got {size}",
            got=f"dim {dim} / {heads} heads = {size}",
            allowed=f"an even number: {positions.kind} positions rotate pairs",
            fix=f"set fewer `heads`, or {instead} positions",
        )


def check_fade(fade: Duration | None, positions: Sequence[PositionSettings]) -> None:
    """Raises a refusal for a fade of absolute positions that has no steps, or nothing to leave or to fade."""
    if fade is None:
        return
    if fade.unit != "steps" or fade.count < 1:
        raise refused(
            "absolute_fade",
            "the length of the fade must be a number of steps",
            got=str(fade),
            allowed="a number of steps, at least 1",
            fix="set `absolute_fade: 500 steps`",
        )
    if not all(isinstance(each, Combined) for each in positions):
        raise refused(
            "absolute_fade",
            "only absolute positions that have relative ones beside them can fade",
            got=" and ".join(dict.fromkeys(each.kind for each in positions)),
            allowed="combined positions, such as sinusoidal+rotary, on every side",
            fix="set `positions: sinusoidal+rotary`, or remove `absolute_fade`",
        )


def divisors(number: int) -> list[int]:
    """All divisors, the smallest first."""
    return [each for each in range(1, number + 1) if number % each == 0]


def near_divisor(number: int, wanted: int) -> int:
    """The divisor nearest to what was wanted, the smaller of two."""
    return min(divisors(number), key=lambda each: (abs(each - wanted), each))
