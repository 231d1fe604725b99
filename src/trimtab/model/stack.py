"""The layers of one side of a model, one after another."""

from torch import nn

from trimtab.config.layer_parts import SUM_WITHOUT_NORM
from trimtab.model.layer_settings import LayerSettings
from trimtab.model.norm import build_norm


class Stack(nn.Module):
    """Blocks of one side, and the final norm of a stack whose residual path has none."""

    def __init__(
        self, blocks: list[nn.Module], config: LayerSettings, *, epsilon: float | None = None
    ) -> None:
        """`epsilon` is that of the last norm; None for the usual one."""
        super().__init__()
        self.blocks = nn.ModuleList(blocks)
        ends = config.norm_position in SUM_WITHOUT_NORM
        self.norm = build_norm(config.norm, config.dim, epsilon=epsilon) if ends else nn.Identity()
