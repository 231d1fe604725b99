"""How many target tokens a step has while steps grow: a pure function of its number."""

import math

from trimtab.arguments import instance_of, whole_number
from trimtab.config.step import BatchWarmup


def tokens_at(warmup: BatchWarmup | None, *, step: int, full: int) -> int:
    """Target tokens of window number `step`, counted from 0; `full` from the end of the warmup on.

    Sources: McCandlish et al. 2018, arXiv 1812.06162; Smith et al. 2017, arXiv 1711.00489.
    """
    if warmup is not None:
        instance_of(
            warmup,
            BatchWarmup,
            name="tokens_at: warmup",
            allowed="a BatchWarmup, or None",
            fix="`from trimtab.config.step import BatchWarmup`, then BatchWarmup(start=4096)",
        )
    whole_number(step, name="tokens_at: step", least=0, fix="count steps from 0")
    whole_number(full, name="tokens_at: full", least=1, fix="pass the target tokens of a full step")
    if warmup is None or step >= warmup.over.steps or warmup.start >= full:
        return full
    share = step / warmup.over.steps
    if warmup.shape == "linear":
        return warmup.start + int((full - warmup.start) * share)
    doublings = math.ceil(math.log2(full / warmup.start))
    return min(full, warmup.start * 2 ** int(share * doublings))
