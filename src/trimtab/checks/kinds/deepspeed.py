"""DeepSpeed's JSON configuration; "auto" is filled in by whoever starts it and stays unknown."""

from collections.abc import Mapping

from trimtab.checks.description import Description
from trimtab.checks.document import Document
from trimtab.checks.keys.table import load_table
from trimtab.checks.kinds.concept_map import Concepts, is_list, put
from trimtab.checks.kinds.kind import Kind, Surroundings
from trimtab.checks.kinds.optimizer_names import take_apart
from trimtab.checks.kinds.written import below, from_beside, settings_of
from trimtab.checks.setting import Setting

SCHEDULES = {
    "warmuplr": "constant_with_warmup",
    "warmupdecaylr": "linear",
    "warmupcosinelr": "cosine",
    "onecycle": "one_cycle",
    "lrrangetest": "lr_range_test",
}
HOSTS = ("cpu", "nvme")


def recognises(document: Document) -> bool:
    """The block or the batch size that nothing else has."""
    keys = document.entries
    if "compute_environment" in keys or "distributed_type" in keys:
        return False
    return "zero_optimization" in keys or "train_micro_batch_size_per_gpu" in keys


def describe(document: Document, surroundings: Surroundings) -> list[Description]:
    """One description, without defaults: a Trainer or Accelerate sets what is not here."""
    settings = settings_of(document.entries.values())
    return [
        Description(
            tool="deepspeed",
            kind=KIND.name,
            document=document,
            keys={setting.key: setting for setting in settings.values()},
            concepts=deepspeed_concepts(settings),
            table=load_table("deepspeed", surroundings.versions),
            versions=surroundings.versions,
        )
    ]


def deepspeed_concepts(settings: Mapping[str, Setting]) -> Concepts:
    """What a DeepSpeed configuration says, by dotted keys."""
    concepts: Concepts = {}
    first = next(iter(settings.values()), None)
    put(concepts, "deepspeed", first, True)
    _put_sharding(concepts, settings, first)
    _put_precision(concepts, settings)
    _put_optimizer(concepts, settings)
    _put_schedule(concepts, settings)
    for concept, key in _BATCH.items():
        put(concepts, concept, _known(settings.get(key)))
    put(concepts, "batch_unit", settings.get("train_micro_batch_size_per_gpu"), "examples")
    return concepts


def deepspeed_named(settings: Mapping[str, Setting], surroundings: Surroundings) -> Concepts:
    """What a Trainer's `deepspeed` holds: a mapping written there, or the name of a file of the same folder."""
    setting = settings.get("deepspeed")
    if setting is None:
        return {}
    if isinstance(setting.value, dict):
        return deepspeed_concepts(below(settings, "deepspeed"))
    return deepspeed_beside(setting, surroundings)


def deepspeed_beside(setting: Setting | None, surroundings: Surroundings) -> Concepts:
    """What the file says that a setting names, where it lies in the same folder."""
    name = setting.value if setting is not None else None
    plain = name.removeprefix("./") if isinstance(name, str) else ""
    if not plain or "/" in plain or "\\" in plain:
        return {}
    document = surroundings.beside(plain)
    if document is None:
        return {}
    return from_beside(deepspeed_concepts(settings_of(document.entries.values())))


def deepspeed_run(setting: Setting | None, surroundings: Surroundings) -> tuple[Description, ...]:
    """The description of the file that a setting names, where it lies in the same folder."""
    name = setting.value if setting is not None else None
    plain = name.removeprefix("./") if isinstance(name, str) else ""
    if not plain or "/" in plain or "\\" in plain:
        return ()
    document = surroundings.beside(plain)
    if document is None or not document.entries or not recognises(document):
        return ()
    return tuple(describe(document, Surroundings(versions=surroundings.versions)))


_BATCH = {
    "micro_batch": "train_micro_batch_size_per_gpu",
    "accumulation": "gradient_accumulation_steps",
    "global_batch": "train_batch_size",
    "clip": "gradient_clipping",
}


def _known(setting: Setting | None) -> Setting | None:
    return None if setting is None or setting.value == "auto" else setting


def _put_sharding(concepts: Concepts, settings: Mapping[str, Setting], first: Setting | None) -> None:
    stage = settings.get("zero_optimization.stage")
    put(concepts, "zero_stage", stage)
    block = "zero_optimization"
    devices = [settings.get(f"{block}.offload_{part}.device") for part in ("optimizer", "param")]
    old = [settings.get(f"{block}.{name}") for name in ("cpu_offload", "cpu_offload_param")]
    moved = next(
        (
            one
            for one in (*devices, *old)
            if one and (one.value is True or (isinstance(one.value, str) and one.value.lower() in HOSTS))
        ),
        None,
    )
    if moved is not None:
        put(concepts, "offload", moved, True)
    elif not any(one and one.value == "auto" for one in devices):
        put(concepts, "offload", stage or settings.get(block) or first, False)


def _put_precision(concepts: Concepts, settings: Mapping[str, Setting]) -> None:
    for block in ("bf16", "bfloat16", "fp16"):
        enabled = settings.get(f"{block}.enabled")
        if enabled is not None and enabled.value is True:
            put(concepts, "autocast", enabled, "fp16" if block == "fp16" else "bf16")


def _put_optimizer(concepts: Concepts, settings: Mapping[str, Setting]) -> None:
    named, start = settings.get("optimizer.type"), "optimizer.params."
    name = take_apart(named.value) if named is not None and isinstance(named.value, str) else None
    if named is None or name is None:
        return
    decoupled = settings.get(start + "adam_w_mode")
    is_adamw = name.kind == "adam" and (decoupled is None or decoupled.value is True)
    put(concepts, "optimizer", named, "adamw" if is_adamw else name.kind)
    put(concepts, "optimizer_variant", named)
    put(concepts, "optimizer_paged", named, False)
    put(concepts, "learning_rate", settings.get(start + "lr"))
    put(concepts, "weight_decay", settings.get(start + "weight_decay"))
    put(concepts, "epsilon", settings.get(start + "eps"))
    betas = settings.get(start + "betas")
    if betas is not None and is_list(betas.value) and len(betas.value) == 2:
        put(concepts, "beta1", betas, betas.value[0])
        put(concepts, "beta2", betas, betas.value[1])


def _put_schedule(concepts: Concepts, settings: Mapping[str, Setting]) -> None:
    named = settings.get("scheduler.type")
    if named is None or not isinstance(named.value, str):
        return
    put(concepts, "schedule", named, SCHEDULES.get(named.value.lower()))
    put(concepts, "warmup_steps", settings.get("scheduler.params.warmup_num_steps"))
    put(concepts, "steps", settings.get("scheduler.params.total_num_steps"))


KIND = Kind(
    name="deepspeed",
    tool="deepspeed",
    title="DeepSpeed configuration",
    syntaxes=frozenset({"json", "yaml"}),
    recognises=recognises,
    describe=describe,
)
