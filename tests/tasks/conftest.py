"""The parts that the checks of every task are tried with."""

from tests.training.preflight.conftest import opened, parts, parts_with

__all__ = ["opened", "parts", "parts_with"]
