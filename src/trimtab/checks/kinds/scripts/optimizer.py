"""Optimizers that a script makes itself."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from trimtab.checks.document import Call, Document
from trimtab.checks.kinds.concept_map import Concepts, is_list, put
from trimtab.checks.kinds.optimizer_names import take_apart
from trimtab.checks.kinds.scripts.calls import positional, written_of
from trimtab.checks.kinds.written import Written
from trimtab.checks.setting import Setting

_ADAM = {"lr": 1e-3, "betas": [0.9, 0.999], "eps": 1e-8}
_ADAMW = {**_ADAM, "weight_decay": 1e-2}
DEFAULTS: dict[str, dict[str, Any]] = {
    "AdamW": _ADAMW,
    "Adam": {**_ADAM, "weight_decay": 0.0},
    "NAdam": {"lr": 2e-3, "betas": [0.9, 0.999], "eps": 1e-8, "weight_decay": 0.0},
    "RAdam": {**_ADAM, "weight_decay": 0.0},
    "Adamax": {"lr": 2e-3, "betas": [0.9, 0.999], "eps": 1e-8, "weight_decay": 0.0},
    "SGD": {"lr": 1e-3, "weight_decay": 0.0},
    "Adagrad": {"lr": 1e-2, "weight_decay": 0.0},
    "RMSprop": {"lr": 1e-2, "weight_decay": 0.0},
    "AdamW8bit": _ADAMW,
    "AdamW4bit": _ADAMW,
    "AdamWFp8": _ADAMW,
    "PagedAdamW": _ADAMW,
    "PagedAdamW8bit": _ADAMW,
    "PagedAdamW32bit": _ADAMW,
    "Adam8bit": {**_ADAM, "weight_decay": 0.0},
    "PagedAdam8bit": {**_ADAM, "weight_decay": 0.0},
    "Lion": {"lr": 1e-4, "betas": [0.9, 0.99], "weight_decay": 0.0},
    "Lion8bit": {"lr": 1e-4, "betas": [0.9, 0.99], "weight_decay": 0.0},
    "PagedLion8bit": {"lr": 1e-4, "betas": [0.9, 0.99], "weight_decay": 0.0},
    "Adafactor": {},
    "Muon": {},
    "DeepSpeedCPUAdam": {},
    "FusedAdam": {},
}
"""Constructors of torch.optim, bitsandbytes, torchao and transformers, with the values that they take by themselves."""
_FROM_TORCH = re.compile(r"from\s+torch\.optim\s+import\s[^\n]*\bAdamW\b")
LIBRARIES = frozenset({"torch", "bitsandbytes", "torchao", "transformers", "deepspeed", "apex"})


def optimizer_calls(document: Document) -> list[Call]:
    """Calls that make an optimizer."""
    if not document.imports & LIBRARIES:
        return []
    return [call for call in document.calls if call.name in DEFAULTS and (call.positional or call.arguments)]


def optimizer_concepts(document: Document) -> Concepts:
    """The optimizer, where the script makes exactly one."""
    calls, concepts = optimizer_calls(document), Concepts()
    if len(calls) != 1:
        return concepts
    call = calls[0]
    name = take_apart(call.name)
    if name is None:
        return concepts
    made = Setting(key=call.name, value=name.kind, place=call.place)
    kind = "adamw" if call.name in ("DeepSpeedCPUAdam", "FusedAdam") else name.kind
    put(concepts, "optimizer", made, kind)
    put(concepts, "optimizer_variant", made, call.name)
    put(concepts, "optimizer_bits", made, name.bits)
    put(concepts, "optimizer_paged", made, name.is_paged)
    # The first argument is what is trained, the second the rate.
    written = replace(written_of(call, document), is_whole=not call.has_rest and len(call.positional) <= 2)
    _put_numbers(concepts, call, written, _own_defaults(call, document))
    if name.kind == "adafactor":
        _put_adafactor(concepts, call, written)
    rounding = written.settings.get("bf16_stochastic_round")
    put(concepts, "stochastic_rounding", rounding or made, rounding.value if rounding else False)
    if "bf16_stochastic_round" in written.hidden or not written.is_whole or name.kind == "muon":
        concepts.pop("stochastic_rounding")
    return concepts


def _put_numbers(concepts: Concepts, call: Call, written: Written, own: Mapping[str, Any]) -> None:
    """Numbers as written, else the constructor's `own`."""

    def number(name: str) -> Setting | None:
        return written.settings.get(name) or (written.set_default(name, own[name]) if name in own else None)

    by_position = len(call.positional) > 1
    put(concepts, "learning_rate", positional(call, 1, "lr") if by_position else number("lr"))
    if len(call.positional) > 2:
        return
    put(concepts, "weight_decay", number("weight_decay"))
    put(concepts, "epsilon", number("eps"))
    betas = number("betas")
    values: Any = betas.value if betas is not None else None
    if "betas" in DEFAULTS[call.name] and is_list(values) and len(values) >= 2:
        put(concepts, "beta1", betas, values[0])
        put(concepts, "beta2", betas, values[1])


def _own_defaults(call: Call, document: Document) -> dict[str, Any]:
    """What a constructor takes by itself, as far as the name says which one it is."""
    own = DEFAULTS[call.name]
    is_torchs = "torch" in call.qualifier or _FROM_TORCH.search(document.text) is not None
    if call.name != "AdamW" or is_torchs or "transformers" not in document.imports:
        return own
    # Until version 5 transformers had an AdamW with another epsilon and without weight decay.
    return {name: value for name, value in own.items() if name not in ("eps", "weight_decay")}


def _put_adafactor(concepts: Concepts, call: Call, written: Written) -> None:
    # The class of torch.optim has other arguments: only that of transformers has these.
    if "torch" in call.qualifier:
        return
    for concept in ("relative_step", "scale_parameter"):
        put(concepts, concept, written.settings.get(concept) or written.set_default(concept, True))
    put(
        concepts,
        "clip_threshold",
        written.settings.get("clip_threshold") or written.set_default("clip_threshold", 1.0),
    )
