"""Which evaluation of a run is the best so far."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from trimtab.config.run import EvaluateConfig
from trimtab.flow import TrainState
from trimtab.metrics.catalogue import metric_of


def with_best(
    state: TrainState, scores: Mapping[str, Mapping[str, Any]], config: EvaluateConfig
) -> TrainState:
    """The state with the best evaluation so far, and how many have passed since; `scores` by validation set."""
    best = config.best
    name = best.set or next(iter(scores))
    value = scores[name][best.metric]
    sign = -1 if metric_of(best.metric).lower_is_better else 1
    # Scores of a run are of the raw weights unless they say otherwise.
    averaged = {"weights": "ema"} if config.weights == "ema" else {}
    compared = {"set": name, "metric": best.metric, **averaged}
    same = {key: state.best.get(key) for key in ("set", "metric", "weights") if key in state.best} == compared
    old = state.best["value"] if same else None
    if not math.isfinite(value):
        value = -sign * math.inf
    if old is None or sign * value > sign * old:
        new = {**compared, "value": value, "step": state.step, "since": 0}
        return replace(state, best=new)
    return replace(state, best={**state.best, "since": state.best.get("since", 0) + 1})
