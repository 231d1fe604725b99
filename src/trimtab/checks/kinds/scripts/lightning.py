"""What Lightning's Trainer is given: precision, accumulation, clipping, length, devices."""

from typing import Final

from trimtab.checks.document import Call, Document
from trimtab.checks.kinds.concept_map import Concepts, positive, put
from trimtab.checks.kinds.scripts.calls import written_of

PACKAGES: Final = frozenset({"lightning", "pytorch_lightning"})
PRECISIONS: Final = {
    "bf16": ("autocast", "bf16"),
    "bf16-mixed": ("autocast", "bf16"),
    "16": ("autocast", "fp16"),
    "16-mixed": ("autocast", "fp16"),
    "bf16-true": ("weights_dtype", "bf16"),
    "16-true": ("weights_dtype", "fp16"),
    "32": ("autocast", "none"),
    "32-true": ("autocast", "none"),
}
"""Words of `precision`, to the concept that each of them sets."""


def lightning_trainers(document: Document) -> list[Call]:
    """Calls of Lightning's Trainer."""
    if not document.imports & PACKAGES:
        return []
    return [
        call for call in document.calls if call.name == "Trainer" and _is_lightning_trainer(call, document)
    ]


def lightning_concepts(document: Document) -> Concepts:
    """What the one Trainer says; of several nothing, as each may train something else."""
    calls, concepts = lightning_trainers(document), Concepts()
    if len(calls) != 1:
        return concepts
    settings = written_of(calls[0], document).settings
    for concept, name in (("accumulation", "accumulate_grad_batches"), ("clip", "gradient_clip_val")):
        put(concepts, concept, settings.get(name))
    by_value = settings.get("gradient_clip_algorithm")
    if by_value is not None and by_value.value != "norm":
        concepts.pop("clip", None)
    # -1 and words such as `auto` leave it to the machine.
    put(concepts, "devices", positive(settings.get("devices")))
    put(concepts, "steps", positive(settings.get("max_steps")))
    put(concepts, "epochs", positive(settings.get("max_epochs")) if "steps" not in concepts else None)
    precision = settings.get("precision")
    concept, word = PRECISIONS.get(str(precision.value), ("", "")) if precision is not None else ("", "")
    if concept:
        put(concepts, concept, precision, word)
    return concepts


def _is_lightning_trainer(call: Call, document: Document) -> bool:
    package = call.qualifier.partition(".")[0]
    return package in PACKAGES if package else bool(document.sources.get("Trainer", frozenset()) & PACKAGES)
