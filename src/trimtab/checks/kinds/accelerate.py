"""The file that `accelerate config` writes and `accelerate launch --config_file` reads."""

from collections.abc import Mapping

from trimtab.checks.description import Description
from trimtab.checks.document import Document
from trimtab.checks.keys.table import load_table
from trimtab.checks.kinds.concept_map import Concepts, as_type, put, put_wrapped
from trimtab.checks.kinds.deepspeed import HOSTS, deepspeed_beside
from trimtab.checks.kinds.kind import Kind, Surroundings
from trimtab.checks.kinds.written import settings_of
from trimtab.checks.setting import Setting

SHARDING = ("DEEPSPEED", "FSDP", "MEGATRON_LM")
OTHER_PARALLEL = ("tp_size", "cp_size", "sp_size")
"""Processes of these groups share one batch."""


def recognises(document: Document) -> bool:
    """`distributed_type`, or the environment it is meant for."""
    return "distributed_type" in document.entries or "compute_environment" in document.entries


def describe(document: Document, surroundings: Surroundings) -> list[Description]:
    """One description of how a run is launched."""
    settings = settings_of(document.entries.values())
    concepts = accelerate_concepts(settings)
    if "deepspeed" in concepts:
        concepts = {
            **deepspeed_beside(settings.get("deepspeed_config.deepspeed_config_file"), surroundings),
            **concepts,
        }
    return [
        Description(
            tool="accelerate",
            kind=KIND.name,
            document=document,
            keys={setting.key: setting for setting in settings.values()},
            concepts=concepts,
            table=load_table("accelerate", surroundings.versions),
            versions=surroundings.versions,
        )
    ]


def accelerate_concepts(settings: Mapping[str, Setting]) -> Concepts:
    """What the launcher fixes, by dotted keys."""
    concepts: Concepts = {}
    kind = settings.get("distributed_type")
    word = kind.value if kind is not None and isinstance(kind.value, str) else ""
    _put_devices(concepts, settings, word)
    precision = settings.get("mixed_precision")
    word_of_precision = str(precision.value) if precision else ""
    put(
        concepts, "autocast", precision, {"no": "none", "fp16": "fp16", "bf16": "bf16"}.get(word_of_precision)
    )
    put(concepts, "fp8", precision, True if word_of_precision == "fp8" else None)
    put(concepts, "sharded", kind, word in SHARDING if word else None)
    if word == "DEEPSPEED":
        put(concepts, "deepspeed", kind, True)
        _put_deepspeed(concepts, settings, kind)
    if word == "FSDP":
        _put_fsdp(concepts, settings, kind)
    backend = settings.get("dynamo_config.dynamo_backend") or settings.get("dynamo_backend")
    if backend is not None and isinstance(backend.value, str):
        put(concepts, "compile", backend, backend.value.upper() != "NO")
    return concepts


def _put_devices(concepts: Concepts, settings: Mapping[str, Setting], kind: str) -> None:
    processes = settings.get("num_processes")
    if kind == "NO":
        # It starts one process then, whatever `num_processes` says.
        put(concepts, "devices", settings["distributed_type"], 1)
        return
    count = as_type(processes.value if processes else None, int)
    for name in OTHER_PARALLEL:
        group = settings.get(f"parallelism_config.parallelism_config_{name}")
        size = as_type(group.value, int) if group else 1
        if count is None or size is None or size < 1 or count % size:
            return
        count //= size
    put(concepts, "devices", processes, count if count and count > 0 else None)


def _put_deepspeed(concepts: Concepts, settings: Mapping[str, Setting], kind: Setting | None) -> None:
    start = "deepspeed_config."
    if start + "deepspeed_config_file" in settings:
        return
    stage = settings.get(start + "zero_stage")
    put(concepts, "zero_stage", stage or kind, stage.value if stage else 2)
    devices = [settings.get(f"{start}offload_{part}_device") for part in ("optimizer", "param")]
    moved = next((one for one in devices if one and str(one.value).lower() in HOSTS), None)
    put(concepts, "offload", moved or stage or kind, moved is not None)
    put(concepts, "clip", settings.get(start + "gradient_clipping"))
    put(concepts, "accumulation", settings.get(start + "gradient_accumulation_steps"))


def _put_fsdp(concepts: Concepts, settings: Mapping[str, Setting], kind: Setting | None) -> None:
    start = "fsdp_config.fsdp_"
    version = settings.get(start + "version")
    put(
        concepts,
        "fsdp",
        version or kind,
        int(version.value) if version and str(version.value) in ("1", "2") else None,
    )
    if version is None:
        put(concepts, "fsdp", kind, 1)
    put(concepts, "offload", settings.get(start + "offload_params"))
    put_wrapped(concepts, settings.get(start + "transformer_layer_cls_to_wrap"))
    recomputes = settings.get(start + "activation_checkpointing")
    if recomputes is not None and recomputes.value is True:
        put(concepts, "gradient_checkpointing", recomputes)


KIND = Kind(
    name="accelerate",
    tool="accelerate",
    title="Accelerate configuration",
    syntaxes=frozenset({"yaml", "json"}),
    recognises=recognises,
    describe=describe,
)
