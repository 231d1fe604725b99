"""Whether this machine's processor multiplies bytes without spilling over: what 8-bit weights may be depends on it."""

import platform
import re
from pathlib import Path

FULL, REDUCED = 127, 63
"""The largest weight in whole numbers of 8 bits, and of 7, which ONNX Runtime calls `reduce_range`."""
SAFE_MACHINES = ("arm64", "aarch64")
SAFE_FLAGS = {"avx512_vnni", "avx_vnni", "avx_vnni_int8", "amx_int8"}
_PROCESSORS = Path("/proc/cpuinfo")


def largest_weight() -> int:
    """The largest whole number that a weight may be here.

    Without an instruction for dot products of bytes (VNNI), x86 processors add two products up in 16 bits: twice 255
    times 127 does not fit and is cut off, twice 255 times 63 fits. Where nothing is known of a processor it has none.
    """
    if platform.machine().lower() in SAFE_MACHINES:
        return FULL
    try:
        flags = re.search(r"(?m)^flags\s*:(.*)$", _PROCESSORS.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return REDUCED
    return FULL if flags and SAFE_FLAGS & set(flags.group(1).split()) else REDUCED
