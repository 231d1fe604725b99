"""How many examples and tokens a step takes, as far as a description says."""

from trimtab.checks.description import Description

ADAM_FAMILY = frozenset({"adam", "adamw"})
"""What the rules about Adam are about; variants that scale themselves differently are left out."""

ABSURD = 10**15
"""Numbers from here on are no sizes of anything, and count as unknown."""


def devices(run: Description) -> int | None:
    """Processes that train data-parallel; None if unknown."""
    count = run.value("devices")
    return count if isinstance(count, int) and count > 0 else None


def tokens_per_step(run: Description) -> int | None:
    """Tokens of a step, on one device where their number is unknown; None if examples have an unknown length."""
    micro, unit = run.value("micro_batch"), run.value("batch_unit")
    if micro is None or unit is None:
        return None
    if unit == "examples":
        length = run.value("sequence_length")
        if run.value("packing") is not True or length is None:
            return None
        micro *= length
    tokens = micro * (run.value("accumulation") or 1) * (devices(run) or 1)
    return tokens if 0 < tokens < ABSURD else None


def billions(run: Description) -> float | None:
    """Parameters in billions: as told, or 12 * layers * width^2 of a decoder."""
    told = run.value("parameters_billion")
    layers, width = run.value("layers"), run.value("hidden_size")
    if told is None and layers is not None and width is not None and run.value("encoder_decoder") is False:
        parameters = 12 * layers * width**2
        told = parameters / 1e9 if 0 < parameters < ABSURD else None
    return told
