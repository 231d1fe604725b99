"""The layers of one side of a model, one after another."""

from torch import nn

from trimtab.model.layer_settings import LayerSettings
from trimtab.model.norm import build_norm


class Stack(nn.Module):
    """Blocks of one side, and the final norm of a pre-norm stack."""

    def __init__(self, blocks: list[nn.Module], config: LayerSettings) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(blocks)
        self.norm = build_norm(config.norm, config.dim) if config.norm_position == "before" else nn.Identity()
