"""How a gradient becomes an update: a file for each kind, and the union of them.

The arithmetic of a kind is in the file of the same name in `trimtab.step.optimizer`.
"""

from collections.abc import Callable
from typing import Annotated, get_args

from pydantic import Field

from trimtab.config.optimizers.adafactor import Adafactor as Adafactor
from trimtab.config.optimizers.adamw import AdamW as AdamW
from trimtab.config.optimizers.adamw import StableAdamW as StableAdamW
from trimtab.config.optimizers.ademamix import AdEMAMix as AdEMAMix
from trimtab.config.optimizers.lion import Lion as Lion
from trimtab.config.optimizers.multipliers import LearningRateMultipliers as LearningRateMultipliers
from trimtab.config.optimizers.multipliers import Role as Role
from trimtab.config.optimizers.muon import Muon as Muon
from trimtab.config.optimizers.optimizer_settings import OptimizerSettings as OptimizerSettings
from trimtab.config.optimizers.sgd import SGD as SGD

Optimizer = Annotated[
    AdamW | Adafactor | StableAdamW | Lion | SGD | AdEMAMix | Muon,
    Field(discriminator="kind"),
]


def kinds_where(holds: Callable[[type[OptimizerSettings]], bool]) -> str:
    """The kinds of which this holds, as a message lists what is allowed."""
    *others, last = (each().kind for each in get_args(get_args(Optimizer)[0]) if holds(each))
    return f"{', '.join(others)} or {last}" if others else last
