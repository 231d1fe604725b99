"""Wrong calls of each public part, as users make them: without the checks of types that the test run adds."""

import json

import numpy as np
import torch
from torch import nn

from trimtab.config.step import BatchWarmup, ClipAdaptive, Cosine
from trimtab.guard import Guard, OutlierRule
from trimtab.parts import (
    AdaptiveClip,
    Ragged,
    Terms,
    accumulate_batches,
    build_optimizer,
    chunked_cross_entropy,
    clip_global_norm,
    error_norm,
    first_non_finite,
    lost_share,
    lost_to_rounding,
    marks,
    must_skip,
    never_moved,
    pack_pairs,
    permuted,
    plan_shape,
    random_stream,
    rate_at,
    round_stochastically,
    rounded_away,
    tokens_at,
)

MODEL = nn.Linear(2, 3)
HIDDEN, MATRIX, LABELS = torch.randn(4, 2), torch.randn(5, 2), torch.tensor([0, 1, 2, 3])
SIDES = Ragged.of([[1, 2], [3], [4]]), Ragged.of([[5]])
PLAN = {"tokens_per_step": 64, "tokens_per_micro_batch": 64, "max_tokens": 8, "fixed": False, "sort": False}
SHAPE = plan_shape(lengths=(SIDES[0].lengths, SIDES[0].lengths), **PLAN)
SYMBOLS = {"start_symbol": 1, "pad_symbol": 0}


def step(batches, loss_of=lambda batch: MODEL(batch).sum(), **options):
    return accumulate_batches(loss_of, batches, num_targets=options.pop("num_targets", len), **options)


def passed(batch):
    """Runs the backward pass itself, which frees the graph."""
    loss = nn.Linear(2, 3)(batch).square().sum()  # MODEL has no gradients in calls below
    loss.backward()
    return loss


CALLS = {
    "accumulate_batches: one batch": lambda: step(HIDDEN),
    "accumulate_batches: None": lambda: step(None),
    "accumulate_batches: no count": lambda: step([HIDDEN], num_targets=lambda batch: None),
    "accumulate_batches: a share": lambda: step([HIDDEN], num_targets=lambda batch: 0.5),
    "accumulate_batches: an output": lambda: step([HIDDEN], lambda batch: {"loss": MODEL(batch).sum()}),
    "accumulate_batches: a float": lambda: step([HIDDEN], lambda batch: MODEL(batch).sum().item()),
    "accumulate_batches: nothing": lambda: step([HIDDEN], lambda batch: None),
    "accumulate_batches: a tuple": lambda: step([HIDDEN], lambda batch: (MODEL(batch).sum(), batch)),
    "accumulate_batches: zero": lambda: step([HIDDEN], num_targets=lambda batch: 0),
    "accumulate_batches: a number": lambda: step([HIDDEN], num_targets=17),
    "accumulate_batches: a loss": lambda: step([HIDDEN], MODEL(HIDDEN).sum()),
    "accumulate_batches: True": lambda: step([HIDDEN], backward=True),
    "accumulate_batches: no pass": lambda: step([HIDDEN], backward=lambda loss: None),
    "accumulate_batches: a second pass": lambda: step([HIDDEN], passed),
    "accumulate_batches: parameters": lambda: step([HIDDEN], model=MODEL.parameters()),
    "accumulate_batches: ranks": lambda: step([HIDDEN], ranks="ALONE"),
    "accumulate_batches: a pair": lambda: step((HIDDEN, LABELS), num_targets=lambda batch: len(batch[1])),
    "clip_global_norm: a model": lambda: clip_global_norm(MODEL, at=1.0),
    "clip_global_norm: names": lambda: clip_global_norm(MODEL.named_parameters(), at=1.0),
    "clip_global_norm: below": lambda: clip_global_norm(MODEL.parameters(), at=-1),
    "clip_global_norm: zero": lambda: clip_global_norm(MODEL.parameters(), at=0),
    "clip_global_norm: text": lambda: clip_global_norm(MODEL.parameters(), at="1.0"),
    "AdaptiveClip: no config": lambda: AdaptiveClip({"kind": "adaptive"}),
    "AdaptiveClip: no gradient": lambda: AdaptiveClip(ClipAdaptive())(MODEL.parameters()),
    "build_optimizer: a dict": lambda: build_optimizer({"kind": "adamw"}, MODEL),
    "build_optimizer: parameters": lambda: build_optimizer(None, MODEL),
    "must_skip: floats": lambda: must_skip(1.0, 2.0),
    "Terms: smoothing": lambda: Terms(50, label_smoothing=2),
    "Terms: z": lambda: Terms(50, z_loss=-1),
    "Terms: vocabulary": lambda: Terms(0),
    "chunked_cross_entropy: rows": lambda: chunked_cross_entropy(HIDDEN[None], MATRIX, LABELS, Terms(5)),
    "chunked_cross_entropy: turned": lambda: chunked_cross_entropy(HIDDEN, MATRIX.T, LABELS, Terms(2)),
    "chunked_cross_entropy: terms": lambda: chunked_cross_entropy(HIDDEN, MATRIX, LABELS, 5),
    "chunked_cross_entropy: floats": lambda: chunked_cross_entropy(HIDDEN, MATRIX, LABELS * 1.0, Terms(5)),
    "error_norm: rows": lambda: error_norm(HIDDEN[None], LABELS),
    "round_stochastically: half": lambda: round_stochastically(HIDDEN.bfloat16()),
    "rate_at: text": lambda: rate_at("cosine", step=0, length=10, warmup=1),
    "rate_at: length": lambda: rate_at(Cosine(), step=0, length=0, warmup=0),
    "rate_at: step": lambda: rate_at(Cosine(), step=-1, length=10, warmup=1),
    "tokens_at: full": lambda: tokens_at(BatchWarmup(start=8), step=0, full=0),
    "tokens_at: a dict": lambda: tokens_at({"start": 8}, step=0, full=64),
    "Ragged.of: floats": lambda: Ragged.of([[1, 2], [0.5]]),
    "Ragged.of: text": lambda: Ragged.of(["ab"]),
    "Ragged.of: large": lambda: Ragged.of([[2**40]]),
    "plan_shape: zero": lambda: plan_shape(lengths=(np.ones(3), np.ones(3)), **PLAN | {"max_tokens": 0}),
    "plan_shape: lengths": lambda: plan_shape(lengths=(np.ones(3), np.ones(2)), **PLAN),
    "pack_pairs: sides": lambda: pack_pairs(*SIDES, SHAPE, **SYMBOLS),
    "pack_pairs: lists": lambda: pack_pairs([[1]], [[1]], SHAPE, **SYMBOLS),
    "permuted: index": lambda: permuted(np.arange(5), n=3, key=(1,)),
    "permuted: key": lambda: permuted(np.arange(5), n=5, key=1),
    "permuted: floats": lambda: permuted(np.arange(5) / 2, n=5, key=(1,)),
    "random_stream: a float": lambda: random_stream(1, 2.0),
    "first_non_finite: no loss": lambda: first_non_finite(MODEL, lambda: None),
    "first_non_finite: a function": lambda: first_non_finite(lambda: None, lambda: None),
    "marks: parameters": lambda: marks(MODEL.parameters()),
    "never_moved: two models": lambda: never_moved(marks(MODEL), {"module.weight": 1}),
    "lost_to_rounding: shapes": lambda: lost_to_rounding(HIDDEN, HIDDEN[0]),
    "lost_share: counts": lambda: lost_share([HIDDEN], []),
    "rounded_away: a share": lambda: rounded_away(1.5, dtype=torch.bfloat16),
    "Guard: a dict": lambda: Guard({"window": 3}),
    "Guard: cap": lambda: Guard(cap=0),
    "OutlierRule: text": lambda: OutlierRule(window="128"),
    "OutlierRule: long": lambda: OutlierRule(window=10**9),
    "OutlierRule: late": lambda: OutlierRule(active_from=10**9),
    "OutlierRule: wide": lambda: OutlierRule(loss_deviations=1e12),
    "OutlierRule: endless": lambda: OutlierRule(least_norm_deviation=float("inf")),
    "Guard: an endless cap": lambda: Guard(cap=10**9),
    "Guard: a rank": lambda: Guard(ranks=0),
    "Guard: a list": lambda: Guard(ranks=["a"]),
    "Guard.from_dict: nothing": lambda: Guard().from_dict({}),
    "Guard.from_dict: None": lambda: Guard().from_dict(None),
    "Guard.from_dict: JSON": lambda: Guard().from_dict(json.dumps(Guard().to_dict())),
    "Guard.from_dict: nested": lambda: Guard().from_dict({"guard": Guard().to_dict()}),
    "Guard.from_dict: window": lambda: Guard().from_dict(Guard(OutlierRule(window=32)).to_dict()),
    "Guard.judge: text": lambda: Guard().judge("1.0", 1.0),
    "Guard.judge: None": lambda: Guard().judge(1.0, None),
}


def outcome(call):
    try:
        call()
    except Exception as error:
        return type(error).__name__, str(error)
    return "", ""


def outcomes():
    """What each call came to, by its name."""
    return {name: outcome(call) for name, call in CALLS.items()}
