"""Eole: the YAML of `eole train`, with its blocks `model` and `training`."""

from dataclasses import replace

from trimtab.checks.description import Description
from trimtab.checks.document import Document
from trimtab.checks.keys.table import load_table
from trimtab.checks.keytable import KeyTable
from trimtab.checks.kinds.concept_map import Concepts, put, put_each
from trimtab.checks.kinds.kind import Kind, Surroundings
from trimtab.checks.kinds.signs import mapping, names_of
from trimtab.checks.kinds.translation.corpora import put_corpora, put_longest
from trimtab.checks.kinds.translation.eole_model import put_model
from trimtab.checks.kinds.translation.training import positive, put_training
from trimtab.checks.kinds.written import Written, below, settings_of

MODEL = frozenset({"architecture", "embeddings", "encoder", "decoder", "heads", "hidden_size", "layers"})
OTHERS = frozenset({"tasks", "base_model", "task", "step", "length"})
"""What Mammoth, Axolotl and our recipes have at the root."""


def recognises(document: Document) -> bool:
    """A block `training` or `model` with its keys, or options of its own metrics."""
    names, tree = names_of(document), mapping(document.tree)
    if names & OTHERS or isinstance(mapping(tree.get("data")).get("train"), list):
        return False
    if "training" in names and isinstance(tree["training"], dict):
        known = load_table("eole").keys
        return any(f"training.{name}" in known for name in mapping(tree["training"])) or "src_vocab" in names
    if MODEL & mapping(tree.get("model")).keys() and names & {"src_vocab", "data", "share_vocab"}:
        return True
    return "comet_model" in names and "valid_metrics" in names and "model_path" not in names


def describe(document: Document, surroundings: Surroundings) -> list[Description]:
    """One run, told from its three levels."""
    table = load_table("eole", surroundings.versions)
    settings = settings_of(document.entries.values(), table=table, converts=True)
    is_whole = "training" in names_of(document)
    root = Written(path=document.path, settings=settings, table=table, is_whole=is_whole)
    training = block(root, "training")
    concepts: Concepts = {}
    put_training(concepts, training)
    put_each(
        concepts,
        training,
        {"weight_decay": "weight_decay", "output_dir": "model_path", "compile": "torch_compile"},
    )
    if "beta1" in concepts:
        put(concepts, "epsilon", training.get("adam_eps"))
    _put_precision(concepts, training)
    unit = training.get("normalization")
    put(
        concepts,
        "loss_normalization",
        unit,
        {"sents": "examples", "tokens": "tokens"}.get(str(unit and unit.value)),
    )
    begun = training.get("train_from")
    put(concepts, "from_scratch", begun, not (begun and begun.value))
    put(concepts, "model_name", begun if begun and begun.value else None)
    if "model" in names_of(document):
        put_model(concepts, block(root, "model"))
    corpora = mapping(mapping(document.tree).get("data"))
    put_corpora(concepts, root, corpora)
    put_longest(concepts, root, corpora, prefix="transforms_configs.filtertoolong.")
    put(concepts, "shared_vocabulary", root.get("share_vocab"))
    put(concepts, "seed", positive(root.get("seed")))
    return [
        Description(
            tool="eole",
            kind=KIND.name,
            document=document,
            keys={setting.key: setting for setting in settings.values()},
            concepts=concepts,
            table=table,
            versions=surroundings.versions,
        )
    ]


def block(root: Written, name: str) -> Written:
    """The keys of a block without its name, with the tool's defaults for them."""
    start = name + "."
    table = root.table and KeyTable(
        tool=root.table.tool,
        version=root.table.version,
        source=root.table.source,
        keys={
            key[len(start) :]: replace(row, name=key[len(start) :])
            for key, row in root.table.keys.items()
            if key.startswith(start)
        },
    )
    return Written(
        path=root.path,
        settings=below(root.settings, name),
        table=table,
        is_whole=root.is_whole,
        prefix=start,
    )


def _put_precision(concepts: Concepts, training: Written) -> None:
    dtype, mixed = training.get("compute_dtype"), training.get("use_amp")
    word = dtype.value if dtype is not None else "fp32" if training.is_whole else None
    if word not in ("fp32", "fp16", "bf16") or mixed is None or not isinstance(mixed.value, bool):
        return
    where = dtype or training.default("compute_dtype", "fp32")
    is_mixed = word != "fp32" and mixed.value
    put(concepts, "autocast", where, word if is_mixed else "none")
    put(
        concepts,
        "weights_dtype",
        where if is_mixed or word == "fp32" else mixed,
        "fp32" if is_mixed else word,
    )
    # In pure bf16 it takes optimi's optimizers where that package is installed, which compensate, else PyTorch's.


KIND = Kind(
    name="eole",
    tool="eole",
    title="Eole training YAML",
    syntaxes=frozenset({"yaml"}),
    recognises=recognises,
    describe=describe,
)
