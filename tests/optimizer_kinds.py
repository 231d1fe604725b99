"""Every kind of optimizer, from the union: tests over it see a new kind by themselves."""

from typing import get_args

from trimtab.config.optimizers import Optimizer

OPTIMIZERS = get_args(get_args(Optimizer)[0])
"""The classes of settings."""
EVERY_KIND = [each().kind for each in OPTIMIZERS]
