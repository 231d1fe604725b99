"""Chooses the optimizer that a recipe asks for."""

from typing import assert_never

from torch import nn

from trimtab.config.step import Adafactor as AdafactorConfig
from trimtab.config.step import AdamW as AdamWConfig
from trimtab.config.step import Optimizer as OptimizerConfig
from trimtab.step.optimizer.adafactor import Adafactor
from trimtab.step.optimizer.adamw import AdamW
from trimtab.step.optimizer.protocol import Optimizer


def build_optimizer(config: OptimizerConfig, model: nn.Module) -> Optimizer:
    """An optimizer over the model's trainable parameters."""
    match config:
        case AdamWConfig():
            return AdamW(config, model)
        case AdafactorConfig():
            return Adafactor(config, model)
        case _:
            assert_never(config)
