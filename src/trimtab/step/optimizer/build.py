"""Chooses the optimizer that a recipe asks for."""

from typing import assert_never, get_args

import torch
from torch import nn

from trimtab.arguments import instance_of, real_number, wrong
from trimtab.config import optimizers as config_of
from trimtab.config.step import Ema
from trimtab.step.multipliers import RoleOf
from trimtab.step.optimizer.adafactor import Adafactor
from trimtab.step.optimizer.adamw import AdamW
from trimtab.step.optimizer.ademamix import AdEMAMix
from trimtab.step.optimizer.averaged_weights import AveragedWeights
from trimtab.step.optimizer.compact_adamw import CompactAdamW
from trimtab.step.optimizer.host_states import HostStates
from trimtab.step.optimizer.host_states import on_host as kept_on_host
from trimtab.step.optimizer.lion import Lion
from trimtab.step.optimizer.muon import Muon
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
    ema: Ema | None = None,
    role_of: RoleOf | None = None,
    by_tensor: bool = False,
    on_host: bool = False,
) -> Optimizer:
    """An optimizer over the model's trainable parameters, which keeps them within bounds where `weight_clip` says, and
    a moving average of them where `ema` does. With `by_tensor`, which excludes both, it is one of `UpdatesTensors`.
    With `on_host` its states lie in host memory, which AdamW can, and StableAdamW with states below float32.

    `role_of` says of a parameter, by its name, what it is for: `embedding`, `hidden`, `output` or `vector`. It is asked
    where `learning_rate_multipliers` are not all 1; without it InputError is raised then, as for a `config` that is no
    settings of an optimizer, and a model with nothing to train.
    """
    kinds = get_args(get_args(config_of.Optimizer)[0])
    instance_of(
        config,
        kinds,
        name="build_optimizer: config",
        allowed=", ".join(kind.__name__ for kind in kinds) + ", each from trimtab.config.optimizers",
        fix="`from trimtab.config.optimizers import AdamW`, then build_optimizer(AdamW(weight_decay=0.01), model)",
    )
    instance_of(
        model,
        nn.Module,
        name="build_optimizer: model",
        allowed="an nn.Module",
        fix="pass the model itself",
    )
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise wrong(
            "build_optimizer: model",
            "has no parameter to train",
            got=f"{sum(1 for _ in model.parameters())} parameters, none of which requires a gradient",
            allowed="at least one trainable parameter",
            fix="set requires_grad on what is to be trained",
        )
    if weight_clip is not None:
        fix = "leave it out, or pass a bound above 0"
        weight_clip = real_number(weight_clip, name="build_optimizer: weight_clip", above=0.0, fix=fix)
    if on_host:
        optimizer = with_states_on_host(config, model, role_of=role_of)
    else:
        optimizer = choose_optimizer(config, model, role_of=role_of, by_tensor=by_tensor)
    optimizer = optimizer if weight_clip is None else ClippedWeights(optimizer, at=weight_clip)
    return optimizer if ema is None else AveragedWeights(optimizer, ema, model)


def with_states_on_host(
    config: config_of.Optimizer, model: nn.Module, *, role_of: RoleOf | None = None
) -> Optimizer:
    """The optimizer of this kind with its states in host memory. InputError for kinds that cannot."""
    match config:
        case config_of.AdamW(states="bfloat16" | "8bit" | "4bit"):
            return HostStates(CompactAdamW(config, model, role_of=role_of, keep=kept_on_host))
        case config_of.AdamW() if not isinstance(config, config_of.StableAdamW):
            return HostStates(RoundedAdamW(config, model, role_of=role_of, keep=kept_on_host))
        case _:
            raise wrong(
                "build_optimizer: on_host",
                "is not for this optimizer",
                got=f"{config.kind} with on_host",
                allowed="AdamW, or StableAdamW with states in 16 bits or fewer",
                fix="leave on_host out, or use AdamW",
            )


def choose_optimizer(
    config: config_of.Optimizer, model: nn.Module, *, role_of: RoleOf | None = None, by_tensor: bool = False
) -> Optimizer:
    """The optimizer of this kind."""
    match config:
        case config_of.AdamW(states="bfloat16" | "8bit" | "4bit"):
            return CompactAdamW(config, model, role_of=role_of)
        case config_of.StableAdamW():  # before AdamW, whose settings it extends
            return StableAdamW(config, model, role_of=role_of)
        case config_of.AdamW():
            narrow = any(each.dtype == torch.bfloat16 for each in model.parameters() if each.requires_grad)
            kind = RoundedAdamW if narrow or by_tensor else AdamW
            return kind(config, model, role_of=role_of)
        case config_of.Adafactor():
            return Adafactor(config, model, role_of=role_of)
        case config_of.Lion():
            return Lion(config, model, role_of=role_of)
        case config_of.SGD():
            return SGD(config, model, role_of=role_of)
        case config_of.AdEMAMix():
            return AdEMAMix(config, model, role_of=role_of)
        case config_of.Muon():
            return Muon(config, model, role_of=role_of)
        case _:
            assert_never(config)
