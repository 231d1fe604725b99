"""Amounts of memory, as people write them and as a plan prints them."""

import re

from trimtab.errors import input_error

GIB = 2**30
MIB = 2**20
SOLD = 0.983
"""Share of the memory on a card's box that CUDA offers: 23.6 of 24, 79.2 of 80, 44.4 of 48 GiB with error correction;
this is the share of consumer cards."""
_AMOUNT = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*")
_UNITS = {"gb": GIB, "gib": GIB, "mb": MIB, "mib": MIB, "tb": 1024 * GIB, "tib": 1024 * GIB}
MOST = 1024 * 1024 * GIB


def parse_memory(text: str, *, option: str) -> int:
    """Bytes of an amount such as `24GB` or `512MiB`; GB is read as GiB, which is what memory is sold in.

    Raises InputError where there is no unit, or no number.
    """
    match = _AMOUNT.fullmatch(text)
    unit = match.group(2).lower() if match else ""
    if match is None or unit not in _UNITS:
        number = match.group(1) if match else ""
        raise input_error(
            f"{option}: {'has no unit' if number and not unit else 'not an amount of memory'}",
            got=text or "nothing",
            allowed="a number and its unit: TB, GB, GiB, MB or MiB",
            fix=f"write `{option} {number or '24'}GB`",
        )
    size = float(match.group(1)) * _UNITS[unit]
    if not MIB <= size <= MOST:
        raise input_error(
            f"{option}: no computer has so {'little' if size < MIB else 'much'} memory",
            got=text,
            allowed="1 MB to 1,024 TB",
            fix=f"write `{option} 24GB`",
        )
    return int(size)


def usable(text: str, *, option: str) -> int:
    """Bytes that CUDA offers on a card that is sold with so much memory; an amount in GiB or MiB is taken as it is."""
    size = parse_memory(text, option=option)
    return size if "i" in text.lower() else int(size * SOLD)


def in_gib(size: int | float) -> str:
    """Bytes for people: GiB with two digits, MiB where that is less than a tenth of one."""
    return f"{size / GIB:,.2f} GiB" if abs(size) >= GIB / 10 else f"{size / MIB:,.1f} MiB"
