"""Settings that contradict a model sharded across processes (`parallel: {kind: fsdp}`)."""

from collections.abc import Iterator

from trimtab.config.complaint import Complaint
from trimtab.config.optimizers import AdamW, kinds_where
from trimtab.config.run import Recipe
from trimtab.config.step import ClipAdaptive

WHOLE = "remove `parallel`: with `data_parallel` every process has whole tensors"


def sharding_contradictions(recipe: Recipe) -> Iterator[Complaint]:
    """Settings that need whole tensors, or whole modules, on each process."""
    if recipe.parallel.kind != "fsdp":
        return
    step, optimizer = recipe.step, recipe.step.optimizer
    if not optimizer.is_elementwise:
        yield Complaint(
            path="step.optimizer",
            what="needs whole tensors, which no process has with fsdp",
            got=optimizer.kind,
            allowed=kinds_where(lambda each: each.is_elementwise),
            fix=f"set `step.optimizer: {{kind: adamw}}`, or {WHOLE}",
        )
    elif isinstance(optimizer, AdamW) and optimizer.states != "float32":
        yield Complaint(
            path="step.optimizer.states",
            what="fsdp would split the blocks in which low-bit states share a scale",
            got=optimizer.states,
            allowed="float32",
            fix=f"set `step.optimizer.states: float32`, or {WHOLE}",
        )
    if isinstance(step.clip, ClipAdaptive):
        yield Complaint(
            path="step.clip",
            what="adaptive clipping needs whole gradients, which no process has with fsdp",
            got="adaptive",
            allowed="global_norm or off",
            fix="set `step.clip: {kind: global_norm}`",
        )
    if step.weight_clip is not None:
        yield Complaint(
            path="step.weight_clip",
            what="needs the largest entry of each matrix, and no process has whole matrices with fsdp",
            got=str(step.weight_clip),
            fix=f"remove it, or {WHOLE}",
        )
    if step.precision == "bf16":
        yield Complaint(
            path="step.precision",
            what="fsdp keeps weights in float32 and gathers them in half precision",
            got="bf16",
            allowed="bf16_mixed, fp16_mixed, tf32 or fp32",
            fix="set `step.precision: bf16_mixed`",
        )
    yield from _other_models(recipe)


def _other_models(recipe: Recipe) -> Iterator[Complaint]:
    """Models that are not divided yet."""
    if recipe.adapter is not None and recipe.adapter.quantize_base != "none":
        yield Complaint(
            path="adapter.quantize_base",
            what="fsdp cannot shard matrices that are packed in 4 bits",
            got=recipe.adapter.quantize_base,
            allowed="none, whose frozen matrices are sharded in half precision",
            fix=f"set `adapter.quantize_base: none`, or {WHOLE}",
        )
    if recipe.facts.reads_images:
        yield Complaint(
            path="parallel.kind",
            what="fsdp cannot shard models that read images yet",
            got=f"fsdp, with task {recipe.task}",
            allowed="data_parallel",
            fix=WHOLE,
        )
    if recipe.model.library:
        yield Complaint(
            path="model.kind",
            what="fsdp cannot shard models that another library computes yet",
            got=recipe.model.kind,
            allowed="a model that trimtab computes, also with pretrained weights",
            fix=WHOLE,
        )
