"""StableAdamW: AdamW with the update clipping of Adafactor."""

from typing import Literal

from trimtab.config.optimizers.adamw import AdamW


class StableAdamW(AdamW):
    """AdamW whose rate is lowered, tensor by tensor, where the second moment lags behind the gradients: Adafactor's
    update clipping in AdamW (arXiv 2304.13013, algorithm 2)."""

    kind: Literal["stable_adamw"] = "stable_adamw"  # type: ignore[assignment]
