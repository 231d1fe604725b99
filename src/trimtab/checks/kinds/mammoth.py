"""Mammoth: the YAML of `train.py`, and templates of its `config_config` tool, which writes such files."""

from dataclasses import replace
from typing import Any

from trimtab.checks.description import Description
from trimtab.checks.document import Document
from trimtab.checks.keys.table import load_table
from trimtab.checks.keytable import Key, KeyTable
from trimtab.checks.kinds.concept_map import Concepts, as_type, put, put_each
from trimtab.checks.kinds.kind import Kind, Surroundings
from trimtab.checks.kinds.signs import mapping, mappings_in, names_of
from trimtab.checks.kinds.translation.corpora import paths_of, put_longest
from trimtab.checks.kinds.translation.training import positive, put_scratch, put_training
from trimtab.checks.kinds.written import Written, settings_of

INNER_HEADS, INNER_FACTOR = 8, 4
"""Heads, and the width of the feed-forward block over the model's, that x-transformers begins with."""
READ_BY_BRIDGES = ("dropout", "attention_dropout", "max_relative_positions")
"""Options that reach the model only where an attention bridge is built."""


def recognises(document: Document) -> bool:
    """Tasks (`data` in old files) with a pair of languages each, or the block of the tool that writes them."""
    if "config_config" in names_of(document):
        return True
    return any("src_tgt" in task for key in ("tasks", "data") for task in mappings_in(document, key))


def describe(document: Document, surroundings: Surroundings) -> list[Description]:
    """One run of many tasks."""
    table = _table(document, load_table("mammoth", surroundings.versions))
    settings = settings_of(document.entries.values(), table=table, converts=True)
    written = Written(path=document.path, settings=settings, table=table)
    concepts: Concepts = {}
    put_training(concepts, written)
    put_scratch(concepts, written)
    put(concepts, "task", _tasks(written), "translation")
    put(concepts, "encoder_decoder", _tasks(written), True)
    put(concepts, "hidden_size", positive(written.get("model_dim")))
    _put_layers(concepts, written)
    _put_precision(concepts, written)
    _put_tasks(concepts, written, document)
    put_each(concepts, written, {"output_dir": "save_model", "seed": "seed"})
    if "max_length" in written.settings:
        # Batches are cut to it, whatever the filters let pass.
        put(concepts, "sequence_length", written.settings["max_length"])
    if "optimizer" in concepts and concepts["optimizer"].value in ("adam", "adamw"):
        put(concepts, "epsilon", written.default("adam_eps", 1e-9))
    put(concepts, "weight_decay", written.get("weight_decay"))
    return [
        Description(
            tool="mammoth",
            kind=KIND.name,
            document=document,
            keys={setting.key: setting for setting in settings.values()},
            concepts=concepts,
            table=table,
            versions=surroundings.versions,
        )
    ]


def _table(document: Document, table: KeyTable) -> KeyTable:
    """The keys of this file: a template has a block more, and a bridge reads what else nothing reads."""
    keys = dict(table.keys)
    if "config_config" in names_of(document):
        keys["config_config"] = Key(name="config_config", types=("mapping",), open=True)
    if mapping(document.tree).get("ab_layers"):
        keys |= {name: replace(keys[name], unread="") for name in READ_BY_BRIDGES}
    return replace(table, keys=keys)


def _tasks(written: Written) -> Any:
    return next(
        (written.settings[key] for key in ("tasks", "data", "config_config") if key in written.settings), None
    )


def _put_layers(concepts: Concepts, written: Written) -> None:
    """Layers of one side: the sum of its stacks. Width and heads of their parts are options of x-transformers."""
    stacks = written.get("dec_layers")
    value = stacks.value if stacks is not None else None
    counts: list[Any] = list(value) if isinstance(value, list) else [value]  # type: ignore[reportUnknownArgumentType]
    numbers = [as_type(count, int) for count in counts]
    if all(number is not None for number in numbers):
        put(concepts, "layers", stacks, sum(number or 0 for number in numbers))
    # The layers of x-transformers never see these two.
    for concept in ("dropout", "attention_dropout"):
        if not written.value("ab_layers"):
            concepts.pop(concept, None)
    inner = {"dropout": "ff_dropout", "attention_dropout": "attn_dropout", "heads": "heads"}
    for concept, option in inner.items():
        put(concepts, concept, written.settings.get(f"x_transformers_opts.{option}"))
    _put_inner_defaults(concepts, written)
    for option, positions in (
        ("rotary_pos_emb", "rotary"),
        ("alibi_pos_bias", "alibi"),
        ("rel_pos_bias", "relative"),
    ):
        chosen = written.settings.get(f"x_transformers_opts.{option}")
        put(concepts, "positions", chosen if chosen is not None and chosen.value is True else None, positions)
    put(concepts, "tied_embeddings", written.settings.get("x_transformers_opts.tie_embedding"))


def _put_inner_defaults(concepts: Concepts, written: Written) -> None:
    """Tells what x-transformers takes where nothing is said, and what Mammoth sets in it."""
    options = "x_transformers_opts"
    if "heads" not in concepts:
        put(concepts, "heads", written.set_default(f"{options}.heads", INNER_HEADS))
    width, factor = concepts.get("hidden_size"), written.settings.get(f"{options}.ff_mult")
    times = as_type(factor.value if factor is not None else INNER_FACTOR, int)
    if width is not None and times is not None:
        put(concepts, "feed_forward", factor or written.default(f"{options}.ff_mult", 0), times * width.value)
    put(
        concepts,
        "norm",
        written.set_default(f"{options}.use_simple_rmsnorm", "rms_norm", unless=(f"{options}.use_rmsnorm",)),
    )


def _put_precision(concepts: Concepts, written: Written) -> None:
    dtype = written.get("model_dtype")
    if dtype is not None and dtype.value in ("fp32", "fp16"):
        put(concepts, "autocast", dtype, "fp16" if dtype.value == "fp16" else "none")
        put(concepts, "weights_dtype", dtype, "fp32")


def _put_tasks(concepts: Concepts, written: Written, document: Document) -> None:
    tasks = [*mappings_in(document, "tasks"), *mappings_in(document, "data")]
    if tasks:
        put(concepts, "corpora", _tasks(written), [path for task in tasks for path in paths_of(task)])
        put(concepts, "validation", _tasks(written), any("path_valid_src" in task for task in tasks))
    tree = mapping(document.tree)
    put_longest(concepts, written, {**mapping(tree.get("data")), **mapping(tree.get("tasks"))})


KIND = Kind(
    name="mammoth",
    tool="mammoth",
    title="Mammoth YAML",
    syntaxes=frozenset({"yaml"}),
    recognises=recognises,
    describe=describe,
)
