"""Python scripts and notebooks: a description for each configuration of a Trainer, or one for the whole script."""

from collections.abc import Iterable
from dataclasses import replace

from trimtab.checks.description import Description
from trimtab.checks.document import Call, Document
from trimtab.checks.keys.table import load_table
from trimtab.checks.keytable import Key, KeyTable
from trimtab.checks.kinds.concept_map import Concepts, put
from trimtab.checks.kinds.deepspeed import deepspeed_run
from trimtab.checks.kinds.huggingface.loading import name_quantized_adapter
from trimtab.checks.kinds.kind import Kind, Surroundings
from trimtab.checks.kinds.scripts.calls import defines, may_be_of, written_of
from trimtab.checks.kinds.scripts.lightning import lightning_concepts
from trimtab.checks.kinds.scripts.loop import loop_concepts
from trimtab.checks.kinds.scripts.model import (
    ADAPTERS,
    adapter_calls,
    loading_concepts,
    loads,
    script_adapter,
    token_concepts,
    x_transformer_concepts,
)
from trimtab.checks.kinds.scripts.optimizer import optimizer_calls, optimizer_concepts
from trimtab.checks.kinds.scripts.own_loop import own_loop_concepts
from trimtab.checks.kinds.scripts.training import (
    CLASSES,
    configurations,
    is_known,
    table_of,
    trainer_concepts,
)
from trimtab.checks.kinds.written import prefixed
from trimtab.checks.setting import Setting

TELLING = frozenset(
    {
        "Accelerator", "BitsAndBytesConfig", "HfArgumentParser", "Seq2SeqTrainer", "SFTTrainer", "Trainer",
        "activation_checkpointing_enable", "add_special_tokens", "add_tokens", "autocast", "clip_grad_norm_",
        "gradient_checkpointing_enable", "CPUOffloadOptimizer", "prepare_model_for_kbit_training",
        "resize_token_embeddings",
    }
)  # fmt: skip
"""Calls whose arguments stand among the keys, besides those that make something."""
LIBRARIES = frozenset(
    {
        "accelerate", "albumentations", "axolotl", "bitsandbytes", "ctranslate2", "deepspeed", "liger_kernel",
        "lightning", "onnx",
        "onnxruntime",
        "optimum", "peft", "pytorch_lightning", "sentence_transformers", "torch", "torchao", "torchvision",
        "transformers", "trl", "unsloth", "x_transformers",
    }
)  # fmt: skip
OF_TRAINING = ("weights_dtype", "from_scratch", "autocast", "gradient_checkpointing", "use_reentrant")
"""What loading and running a model says only where the model is trained."""
TRAINERS = frozenset({"Trainer", "Seq2SeqTrainer", "SFTTrainer", "DPOTrainer", "GRPOTrainer"})


def recognises(document: Document) -> bool:
    """A call in a script that uses one of the libraries of the field; whether it trains is for `trains` to say. Of a
    notebook a command that trains is enough."""
    uses = bool(document.imports & LIBRARIES) and bool(document.calls)
    if uses or not document.commands:
        return uses
    from trimtab.checks.kinds import shell_launch  # late: few scripts start commands

    return shell_launch.recognises(commands_of(document))


def commands_of(document: Document) -> Document:
    """The commands of a notebook as a shell script."""
    return replace(document, syntax="shell", calls=document.commands, imports=frozenset[str](), flow=None)


def trains(document: Document) -> bool:
    """A Trainer, its configuration, an adapter or an optimizer."""
    if configurations(document) or adapter_calls(document) or optimizer_calls(document):
        return True
    names = {call.name for call in document.calls}
    return bool(names & TRAINERS and document.imports & {"transformers", "trl"})


def describe(document: Document, surroundings: Surroundings) -> list[Description]:
    """As many descriptions as there are configurations, each with the model and the loop of the whole script; then
    those of the commands in a notebook."""
    launched: list[Description] = []
    if document.commands:
        from trimtab.checks.kinds import shell_launch  # late: few scripts start commands

        launched = shell_launch.describe(commands_of(document), surroundings)
    if not document.imports & LIBRARIES:
        return launched
    return [*_own_runs(document, surroundings), *launched]


def _own_runs(document: Document, surroundings: Surroundings) -> list[Description]:
    whole = _whole(document, surroundings)
    calls = configurations(document)
    if not calls:
        return [_description(document, surroundings, whole, None)]
    return [
        _description(document, surroundings, _merged(call, whole, document, surroundings), call)
        for call in calls
    ]


def _whole(document: Document, surroundings: Surroundings) -> Concepts:
    versions = surroundings.versions
    concepts = {
        **loop_concepts(document, versions),
        **loading_concepts(document, versions),
        **token_concepts(document),
        **x_transformer_concepts(document),
        **optimizer_concepts(document),
        **script_adapter(document, versions),
    }
    if not trains(document):
        concepts = {concept: setting for concept, setting in concepts.items() if concept not in OF_TRAINING}
    if trains(document):
        concepts |= lightning_concepts(document)
    if not configurations(document):
        concepts = {**own_loop_concepts(document), **concepts, **_cast(document)}
        if "weights_dtype" in concepts and not concepts["weights_dtype"].is_written:
            # What the loader chooses depends on a version that a loop of one's own rarely pins.
            concepts.pop("weights_dtype")
    name_quantized_adapter(concepts)
    _put_no_adapter(concepts, document)
    return concepts


def _cast(document: Document) -> Concepts:
    """The dtype that a model is cast to after it was loaded: it counts, and not that of the loading."""
    concepts = own_loop_concepts(document)
    return {"weights_dtype": concepts["weights_dtype"]} if "weights_dtype" in concepts else {}


def _put_no_adapter(concepts: Concepts, document: Document) -> None:
    """Full training: a Trainer gets a model that is loaded here, and nothing here can put an adapter on it."""
    trainers = [call for call in document.calls if call.name in TRAINERS]
    can = "unsloth" in document.imports or any(call.name in _ADAPTING for call in document.calls)
    can = can or any("Peft" in call.qualifier for call in document.calls) or "peft_config" in document.text
    if "adapter" in concepts or can or len(trainers) != 1 or not loads(document):
        return
    call = trainers[0]
    # What is loaded here may be the model that another is compared with.
    if not call.has_rest and not call.arguments.keys() & {"peft_config", "ref_model"}:
        put(concepts, "adapter", Setting(key=call.name, value="none", place=call.place, origin="default"))


def _merged(call: Call, whole: Concepts, document: Document, surroundings: Surroundings) -> Concepts:
    """The configuration with what the script does itself: its defaults speak only where nothing else does."""
    concepts, written = trainer_concepts(call, document, surroundings)
    if _is_before_the_adapter(call, document):
        of_adapter = script_adapter(document, surroundings.versions)
        whole = {concept: setting for concept, setting in whole.items() if concept not in of_adapter}
    merged = {**concepts, **whole}
    for concept, setting in concepts.items():
        if setting.is_written and concept not in _OF_OPTIMIZER:
            merged[concept] = setting
    if optimizer_calls(document):
        # Two optimizers, or one with arguments that cannot be seen, hide what the Trainer would have made.
        for concept in _OF_OPTIMIZER - whole.keys():
            merged.pop(concept, None)
    if "gradient_checkpointing" in concepts and concepts["gradient_checkpointing"].value is True:
        # The Trainer turns it on again, with its own arguments.
        merged.pop("use_reentrant", None)
        merged |= {name: concepts[name] for name in ("use_reentrant",) if name in concepts}
    for key, concept in _HIDING.items():
        if key in written.hidden:
            merged.pop(concept, None)
    return merged


def _is_before_the_adapter(call: Call, document: Document) -> bool:
    """Whether a Trainer is made with this configuration before the script makes its adapter."""
    first = min((each.place for each in adapter_calls(document)), default=call.place)
    return any(
        call.place < each.place < first
        for each in document.calls
        if each.name in TRAINERS and "peft_config" not in each.arguments  # it may be made right there
    )


_ADAPTING = frozenset(
    {
        "get_peft_model", "LoraConfig", "AdaLoraConfig", "OFTConfig", "add_adapter", "load_adapter", "LoraModel",
        "prepare_model_for_kbit_training", "inject_adapter_in_model", "PrefixTuningConfig", "PromptTuningConfig",
        "IA3Config", "init_adapters", "train_adapter",
    }
)  # fmt: skip
"""Calls that put an adapter on a model, or prepare it for one."""
_OF_OPTIMIZER = frozenset(
    {
        "optimizer", "optimizer_variant", "optimizer_bits", "optimizer_paged", "learning_rate", "weight_decay",
        "beta1", "beta2", "epsilon", "relative_step", "scale_parameter", "clip_threshold", "stochastic_rounding",
    }
)  # fmt: skip
_HIDING = {
    "gradient_checkpointing": "gradient_checkpointing",
    "gradient_checkpointing_kwargs": "use_reentrant",
}


def _description(
    document: Document, surroundings: Surroundings, concepts: Concepts, configuration: Call | None
) -> Description:
    calls = [
        call
        for call in _shown(document)
        if call is configuration or call.name not in CLASSES or configuration is None
    ]
    if configuration is not None and not any(call is configuration for call in calls):
        calls.append(configuration)  # one that a parser of the command line makes
    tool = CLASSES[configuration.name][0] if configuration else _tool(document)
    return Description(
        tool=tool,
        kind=KIND.name,
        document=document,
        keys=dict(_keys(calls, document, surroundings)),
        concepts=concepts,
        table=_table(calls, document, surroundings, tool),
        versions=surroundings.versions,
        nearby=deepspeed_run(_deepspeed_of(configuration, document), surroundings),
    )


def _deepspeed_of(configuration: Call | None, document: Document) -> Setting | None:
    """The file that a Trainer's configuration names."""
    return None if configuration is None else written_of(configuration, document).settings.get("deepspeed")


def _shown(document: Document) -> list[Call]:
    others = {id(call) for call in (*loads(document), *optimizer_calls(document))}
    return [
        call
        for call in document.calls
        if call.name in TELLING
        or is_known(call, document)
        or (call.name in ADAPTERS and may_be_of(call, document, "peft"))
        or id(call) in others
    ]


def _keys(
    calls: Iterable[Call], document: Document, surroundings: Surroundings
) -> Iterable[tuple[str, Setting]]:
    seen: set[str] = set()
    for call in calls:
        table = table_of(call, surroundings) if call.name in CLASSES else None
        for setting in written_of(call, document, table).settings.values():
            if setting.key not in seen:
                seen.add(setting.key)
                yield setting.key, setting


def _table(
    calls: Iterable[Call], document: Document, surroundings: Surroundings, tool: str
) -> KeyTable | None:
    tables: dict[str, KeyTable] = {}
    for call in calls:
        if call.name in CLASSES:
            tables[call.name] = table_of(call, surroundings)
        elif call.name in ADAPTERS and "peft" in document.imports:
            tables[call.name] = load_table(f"peft_{ADAPTERS[call.name]}", surroundings.versions)
    tables = {name: table for name, table in tables.items() if not defines(document, name)}
    if not tables:
        return None
    keys: dict[str, Key] = {}
    for name, table in tables.items():
        keys[name] = Key(name=name, types=("mapping",))
        keys |= _prefixed(table, f"{name}.")
    first = next(iter(tables.values()))
    # A constructor takes no argument that it does not know.
    return replace(first, tool=tool, keys=keys, unknown_keys="refused")


_PREFIXED: dict[tuple[int, str], tuple[KeyTable, dict[str, Key]]] = {}
"""By table and prefix; tables live as long as the program."""


def _prefixed(table: KeyTable, prefix: str) -> dict[str, Key]:
    if (id(table), prefix) not in _PREFIXED:
        _PREFIXED[id(table), prefix] = (table, prefixed(table, prefix))
    return _PREFIXED[id(table), prefix][1]


def _tool(document: Document) -> str:
    return next((name for name in ("trl", "transformers", "peft") if name in document.imports), "torch")


KIND = Kind(
    name="python",
    tool="torch",
    title="Python script",
    syntaxes=frozenset({"python"}),
    recognises=recognises,
    describe=describe,
)
