"""What the launcher of a command fixes: processes, precision, sharding."""

from trimtab.checks.document import Call, Document, Entry
from trimtab.checks.keys.table import load_table
from trimtab.checks.kinds.accelerate import accelerate_concepts
from trimtab.checks.kinds.concept_map import Concepts, as_type, put
from trimtab.checks.kinds.deepspeed import HOSTS, deepspeed_beside
from trimtab.checks.kinds.kind import Surroundings
from trimtab.checks.kinds.model_names import put_model_name
from trimtab.checks.kinds.scripts.calls import agreeing, positional
from trimtab.checks.kinds.scripts.model import loads
from trimtab.checks.kinds.scripts.options import told_options
from trimtab.checks.kinds.written import from_beside, settings_of
from trimtab.checks.setting import Setting

LAUNCHERS = frozenset({"accelerate-launch", "torchrun", "deepspeed"})
PRECISIONS = {"no": "none", "fp16": "fp16", "bf16": "bf16"}


def launcher_concepts(call: Call, document: Document, surroundings: Surroundings) -> Concepts:
    """What the options of a launcher say, and the file that `--config_file` names beside the script."""
    if call.name == "accelerate-launch":
        return _accelerate(call, surroundings)
    concepts: Concepts = {}
    _put_processes(concepts, call)
    if call.name == "deepspeed":
        put(concepts, "deepspeed", Setting(key=call.name, value=True, place=call.place))
    return concepts


def model_of_script(name: str, surroundings: Surroundings) -> Concepts:
    """The family of the one model that a script beside the launch line loads by a name that is written in it."""
    plain = name.removeprefix("./")
    document = surroundings.beside(plain) if plain.endswith(".py") and "/" not in plain else None
    if document is None:
        return {}
    concepts: Concepts = {}
    names = [positional(call, 0, "pretrained_model_name_or_path") for call in loads(document)]
    if names and None not in names:
        put_model_name(concepts, agreeing(each for each in names if each is not None))
    return from_beside({concept: each for concept, each in concepts.items() if concept == "model_family"})


def launcher_options(call: Call) -> dict[str, Setting]:
    """The launcher's own options, their text read as the launcher reads it."""
    table = load_table("accelerate_launch") if call.name == "accelerate-launch" else None
    return told_options(call, table, f"{call.name}.")


def _accelerate(call: Call, surroundings: Surroundings) -> Concepts:
    options = launcher_options(call)
    concepts = {**_file_beside(options.get("config_file"), surroundings)}
    put(concepts, "devices", options.get("num_processes"))
    precision = options.get("mixed_precision")
    if precision is not None and isinstance(precision.value, str):
        put(concepts, "autocast", precision, PRECISIONS.get(precision.value))
        put(concepts, "fp8", precision, True if precision.value == "fp8" else None)
    engine = options.get("use_deepspeed")
    if engine is not None and engine.value is True:
        put(concepts, "deepspeed", engine)
        concepts |= deepspeed_beside(options.get("deepspeed_config_file"), surroundings)
    put(concepts, "zero_stage", options.get("zero_stage"))
    for name in ("offload_optimizer_device", "offload_param_device"):
        moved = options.get(name)
        if moved is not None and str(moved.value).lower() in HOSTS:
            put(concepts, "offload", moved, True)
    put(concepts, "accumulation", options.get("gradient_accumulation_steps"))
    put(concepts, "clip", options.get("gradient_clipping"))
    sharded, version = options.get("use_fsdp"), options.get("fsdp_version")
    if sharded is not None and sharded.value is True:
        put(concepts, "fsdp", version or sharded, _digit(version) if version else 1)
    return concepts


def _file_beside(setting: Setting | None, surroundings: Surroundings) -> Concepts:
    name = setting.value if setting is not None else None
    plain = name.removeprefix("./") if isinstance(name, str) else ""
    document = surroundings.beside(plain) if plain and "/" not in plain else None
    return from_beside(accelerate_concepts(settings_of(document.entries.values()))) if document else {}


def _put_processes(concepts: Concepts, call: Call) -> None:
    """torchrun: processes of a node times nodes; deepspeed: `--num_gpus` of each node."""
    each = _number(call.arguments.get("nproc_per_node") or call.arguments.get("num_gpus"))
    nodes_entry = call.arguments.get("nnodes") or call.arguments.get("num_nodes")
    nodes = _number(nodes_entry) if nodes_entry else 1
    entry = call.arguments.get("nproc_per_node") or call.arguments.get("num_gpus")
    if each is None or nodes is None or entry is None or each < 1 or nodes < 1:
        return
    setting = next(iter(settings_of([entry], prefix=f"{call.name}.").values()), None)
    put(concepts, "devices", setting, each * nodes)


def _number(entry: Entry | None) -> int | None:
    """A whole number; `gpu`, `auto` and ranges of nodes (`1:4`) are none."""
    value = entry.value if entry is not None else None
    return (
        int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else as_type(value, int)
    )


def _digit(setting: Setting) -> int | None:
    return int(setting.value) if str(setting.value) in ("1", "2") else None
