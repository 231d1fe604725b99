"""The parts that stand alone, under one name: for people who keep their own PyTorch or Hugging Face loop.

`from trimtab.parts import accumulate_batches, chunked_cross_entropy`. Nothing here needs a recipe, a run folder or
trimtab's model; `docs/functions.md` shows each in a loop of its own.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trimtab.data.cut import pack_pairs as pack_pairs
    from trimtab.data.order import permuted as permuted
    from trimtab.data.order import random_stream as random_stream
    from trimtab.data.shape import plan_shape as plan_shape
    from trimtab.loss.chunked import chunked_cross_entropy as chunked_cross_entropy
    from trimtab.loss.plain import error_norm as error_norm
    from trimtab.loss.terms import Terms as Terms
    from trimtab.step.accumulate_batches import accumulate_batches as accumulate_batches
    from trimtab.step.batch_warmup import tokens_at as tokens_at
    from trimtab.step.clip.adaptive import AdaptiveClip as AdaptiveClip
    from trimtab.step.clip.global_norm import clip_global_norm as clip_global_norm
    from trimtab.step.judge import must_skip as must_skip
    from trimtab.step.optimizer.build import build_optimizer as build_optimizer
    from trimtab.step.optimizer.stochastic_rounding import round_stochastically as round_stochastically
    from trimtab.step.schedule import rate_at as rate_at
    from trimtab.types.ragged import Ragged as Ragged
    from trimtab.watch.movement import lost_share as lost_share
    from trimtab.watch.movement import lost_to_rounding as lost_to_rounding
    from trimtab.watch.movement import marks as marks
    from trimtab.watch.movement import never_moved as never_moved
    from trimtab.watch.movement import rounded_away as rounded_away
    from trimtab.watch.non_finite import first_non_finite as first_non_finite

HOMES = {
    "accumulate_batches": "trimtab.step.accumulate_batches",
    "chunked_cross_entropy": "trimtab.loss.chunked",
    "Terms": "trimtab.loss.terms",
    "error_norm": "trimtab.loss.plain",
    "clip_global_norm": "trimtab.step.clip.global_norm",
    "AdaptiveClip": "trimtab.step.clip.adaptive",
    "must_skip": "trimtab.step.judge",
    "build_optimizer": "trimtab.step.optimizer.build",
    "round_stochastically": "trimtab.step.optimizer.stochastic_rounding",
    "rate_at": "trimtab.step.schedule",
    "tokens_at": "trimtab.step.batch_warmup",
    "Ragged": "trimtab.types.ragged",
    "plan_shape": "trimtab.data.shape",
    "pack_pairs": "trimtab.data.cut",
    "permuted": "trimtab.data.order",
    "random_stream": "trimtab.data.order",
    "first_non_finite": "trimtab.watch.non_finite",
    "marks": "trimtab.watch.movement",
    "never_moved": "trimtab.watch.movement",
    "lost_to_rounding": "trimtab.watch.movement",
    "lost_share": "trimtab.watch.movement",
    "rounded_away": "trimtab.watch.movement",
}
"""Where each part lives; fetched when first asked for."""

__all__ = [*HOMES]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in HOMES:
        return getattr(import_module(HOMES[name]), name)
    raise AttributeError(f"module 'trimtab.parts' has no attribute {name!r}")
