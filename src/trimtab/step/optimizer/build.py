"""Chooses the optimizer that a recipe asks for."""

from typing import assert_never

import torch
from torch import nn

from trimtab.config import step as config_of
from trimtab.step.optimizer.adafactor import Adafactor
from trimtab.step.optimizer.adamw import AdamW
from trimtab.step.optimizer.averaged_weights import AveragedWeights
from trimtab.step.optimizer.lion import Lion
from trimtab.step.optimizer.protocol import Optimizer
from trimtab.step.optimizer.rounded_adamw import RoundedAdamW
from trimtab.step.optimizer.sgd import SGD
from trimtab.step.optimizer.stable_adamw import StableAdamW
from trimtab.step.optimizer.weight_clip import ClippedWeights


def build_optimizer(
    config: config_of.Optimizer,
    model: nn.Module,
    *,
    weight_clip: float | None = None,
    ema: config_of.Ema | None = None,
) -> Optimizer:
    """An optimizer over the model's trainable parameters, which keeps them within bounds where `weight_clip` says, and
    a moving average of them where `ema` does."""
    optimizer = choose_optimizer(config, model)
    optimizer = optimizer if weight_clip is None else ClippedWeights(optimizer, at=weight_clip)
    return optimizer if ema is None else AveragedWeights(optimizer, ema, model)


def choose_optimizer(config: config_of.Optimizer, model: nn.Module) -> Optimizer:
    """The optimizer of this kind."""
    match config:
        case config_of.StableAdamW():  # before AdamW, whose settings it extends
            return StableAdamW(config, model)
        case config_of.AdamW():
            narrow = any(weight.dtype == torch.bfloat16 for weight in model.parameters())
            return RoundedAdamW(config, model) if narrow else AdamW(config, model)
        case config_of.Adafactor():
            return Adafactor(config, model)
        case config_of.Lion():
            return Lion(config, model)
        case config_of.SGD():
            return SGD(config, model)
        case _:
            assert_never(config)
