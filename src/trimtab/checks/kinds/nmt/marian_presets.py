"""What Marian's shortcuts stand for: `task: transformer-base` sets two dozen options that are not written otherwise."""

from collections.abc import Mapping
from typing import Any

from trimtab.checks.kinds.concept_map import text_list
from trimtab.checks.setting import Setting

_TRAINING: dict[str, Any] = {
    "type": "transformer", "enc-depth": 6, "dec-depth": 6, "tied-embeddings-all": True, "transformer-dropout": 0.1,
    "transformer-ffn-activation": "relu", "cost-type": "ce-mean-words", "label-smoothing": 0.1, "clip-norm": 0,
    "sync-sgd": True, "exponential-smoothing": 1e-4, "max-length": 100, "mini-batch-fit": True, "mini-batch": 1000,
    "maxi-batch": 1000, "beam-size": 8, "normalize": 1.0, "transformer-postprocess": "dan",
    "transformer-preprocess": "",
}  # fmt: skip
_BASE: dict[str, Any] = {
    **_TRAINING, "dim-emb": 512, "transformer-dim-ffn": 2048, "transformer-heads": 8, "learn-rate": 3e-4,
    "lr-warmup": "16000", "lr-decay-inv-sqrt": ["16000"], "optimizer-params": [0.9, 0.98, 1e-9],
    "valid-mini-batch": 16, "workspace": 9500,
}  # fmt: skip
_BIG: dict[str, Any] = {
    **_TRAINING, "dim-emb": 1024, "transformer-dim-ffn": 4096, "transformer-heads": 16, "learn-rate": 2e-4,
    "lr-warmup": "8000", "lr-decay-inv-sqrt": ["8000"], "optimizer-params": [0.9, 0.998, 1e-9],
    "valid-mini-batch": 8, "workspace": 13000,
}  # fmt: skip
_PRE_NORM = {
    "transformer-preprocess": "n",
    "transformer-postprocess": "da",
    "transformer-postprocess-top": "n",
}
TASKS: dict[str, dict[str, Any]] = {
    "transformer-base": _BASE,
    "transformer-big": _BIG,
    "transformer-base-prenorm": {**_BASE, **_PRE_NORM},
    "transformer-big-prenorm": {**_BIG, **_PRE_NORM},
}
"""Values of `task`, as of 1.12 (src/common/aliases.cpp)."""
_SWITCHES: dict[str, dict[str, Any]] = {
    "fp16": {"precision": ["float16", "float32"]},
    "no-shuffle": {"shuffle": "none"},
    "alibi": {
        "transformer-attention-mask": "alibi", "transformer-alibi-shift": True,
        "transformer-disable-position-embeddings": True, "transformer-alibi-trainable": True,
    },
    "best-deep": {
        "type": "s2s", "layer-normalization": True, "tied-embeddings": True, "enc-depth": 4, "dec-depth": 4,
        "learn-rate": 3e-4, "cost-type": "ce-mean-words", "lr-decay-inv-sqrt": ["16000"], "label-smoothing": 0.1,
        "clip-norm": 0, "sync-sgd": True, "exponential-smoothing": 1e-4, "mini-batch-fit": True, "mini-batch": 1000,
        "maxi-batch": 1000,
    },
}  # fmt: skip


def implied(settings: Mapping[str, Setting]) -> dict[str, Any]:
    """What the shortcuts among written options set; an option that is written itself wins over them."""
    concepts: dict[str, Any] = {}
    for name, values in _SWITCHES.items():
        switch = settings.get(name)
        if switch is not None and switch.value is True:
            concepts |= values
    task = settings.get("task")
    for name in (text_list(task.value) or []) if task is not None else []:
        concepts |= TASKS.get(name, {})
    return concepts
