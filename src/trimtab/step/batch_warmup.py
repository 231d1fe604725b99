"""How many target tokens a step has while steps grow: a pure function of its number."""

import math

from trimtab.config.step import BatchWarmup


def tokens_at(warmup: BatchWarmup | None, *, step: int, full: int) -> int:
    """Target tokens of window number `step`, counted from 0; `full` from the end of the warmup on.

    Sources: McCandlish et al. 2018, arXiv 1812.06162; Smith et al. 2017, arXiv 1711.00489.
    """
    if warmup is None or step >= warmup.over.steps or warmup.start >= full:
        return full
    share = step / warmup.over.steps
    if warmup.shape == "linear":
        return warmup.start + int((full - warmup.start) * share)
    doublings = math.ceil(math.log2(full / warmup.start))
    return min(full, warmup.start * 2 ** int(share * doublings))
