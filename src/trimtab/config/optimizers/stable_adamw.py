"""StableAdamW: AdamW with the update clipping of Adafactor."""

from typing import Literal

from trimtab.config.optimizers.adamw import AdamW


class StableAdamW(AdamW):
    """AdamW that lowers the learning rate of a tensor while its second moment lags behind the gradients: Adafactor's
    update clipping in AdamW (arXiv 2304.13013, algorithm 2)."""

    kind: Literal["stable_adamw"] = "stable_adamw"  # type: ignore[assignment]
