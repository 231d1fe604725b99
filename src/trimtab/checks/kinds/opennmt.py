"""OpenNMT-py 3: the flat YAML of `onmt_train` and `onmt_build_vocab`."""

from trimtab.checks.description import Description
from trimtab.checks.document import Document
from trimtab.checks.keys.table import load_table
from trimtab.checks.kinds.concept_map import Concepts, put, put_each
from trimtab.checks.kinds.kind import Kind, Surroundings
from trimtab.checks.kinds.signs import mapping, mappings_in, names_of
from trimtab.checks.kinds.translation.corpora import put_corpora, put_longest
from trimtab.checks.kinds.translation.training import last_of, positive, put_scratch, put_training
from trimtab.checks.kinds.written import Written, settings_of

CORPUS = frozenset({"path_src", "path_tgt", "path_txt"})
BLOCKS = frozenset({"model", "training", "inference", "transforms_configs", "tasks", "config_config"})
"""What Eole and Mammoth have at the root, and OpenNMT-py has not."""
FLAT = frozenset(
    {"encoder_type", "decoder_type", "train_steps", "word_vec_size", "decay_method", "warmup_steps"}
)


def recognises(document: Document) -> bool:
    """Corpora with `path_src` and no block of Eole, or `save_model` beside options of its trainer."""
    names = names_of(document)
    if names & BLOCKS or any("src_tgt" in corpus for corpus in mappings_in(document, "data")):
        return False
    if any(CORPUS & corpus.keys() for corpus in mappings_in(document, "data")):
        return True
    return "save_model" in names and bool(names & FLAT)


def describe(document: Document, surroundings: Surroundings) -> list[Description]:
    """One run; a file with corpora alone is a part of one, whose other options may be on the command line."""
    table = load_table("opennmt", surroundings.versions)
    settings = settings_of(document.entries.values(), table=table, converts=True)
    is_whole = bool(names_of(document) & (FLAT | {"save_model"}))
    written = Written(path=document.path, settings=settings, table=table, is_whole=is_whole)
    concepts: Concepts = {}
    put_training(concepts, written)
    put_scratch(concepts, written)
    _put_model(concepts, written)
    _put_precision(concepts, written)
    corpora = mapping(mapping(document.tree).get("data"))
    put_corpora(concepts, written, corpora)
    put_longest(concepts, written, corpora)
    _put_normalization(concepts, written)
    put_each(concepts, written, {"output_dir": "save_model", "shared_vocabulary": "share_vocab"})
    put(concepts, "seed", positive(written.get("seed")))
    if "optimizer" in concepts and concepts["optimizer"].value in ("adam", "adamw"):
        put(concepts, "epsilon", written.default("adam_eps", 1e-8))
        is_decayed = concepts["optimizer"].value == "adamw"
        # The 8-bit and paged optimizers have it written into the code.
        put(concepts, "weight_decay", written.default("weight_decay", 0.01 if is_decayed else 0.0))
    return [
        Description(
            tool="opennmt",
            kind=KIND.name,
            document=document,
            keys={setting.key: setting for setting in settings.values()},
            concepts=concepts,
            table=table,
            versions=surroundings.versions,
        )
    ]


def _put_model(concepts: Concepts, written: Written) -> None:
    task = written.get("model_task")
    put(
        concepts,
        "task",
        task,
        {"seq2seq": "translation", "lm": "language_model"}.get(str(task and task.value)),
    )
    put(concepts, "encoder_decoder", task, bool(task and task.value == "seq2seq"))
    put(concepts, "hidden_size", positive(written.get("hidden_size")) or written.get("dec_hid_size"))
    put(concepts, "layers", positive(written.get("layers")) or written.get("dec_layers"))
    if written.value("decoder_type") != "transformer":
        return
    put_each(concepts, written, {"heads": "heads", "feed_forward": "transformer_ff"})
    put(concepts, "kv_heads", positive(written.get("num_kv")))
    put(concepts, "norm", written.get("layer_norm"), _NORMS.get(str(written.value("layer_norm"))))
    put(concepts, "norm_placement", written.default("decoder_type", "pre"))
    for key in ("share_embeddings", "share_decoder_embeddings"):
        if written.value(key) is True:
            put(concepts, "tied_embeddings", written.get(key))
    put(
        concepts,
        "tied_embeddings",
        None if "tied_embeddings" in concepts else written.get("share_decoder_embeddings"),
    )
    _put_positions(concepts, written)


def _put_positions(concepts: Concepts, written: Written) -> None:
    relative, absolute = written.get("max_relative_positions"), written.get("position_encoding")
    if relative is not None and isinstance(relative.value, int) and relative.value != 0:
        put(concepts, "positions", relative, {-1: "rotary", -2: "alibi"}.get(relative.value, "relative"))
    elif absolute is not None and isinstance(absolute.value, bool):
        put(concepts, "positions", absolute, "sinusoidal" if absolute.value else "none")


def _put_precision(concepts: Concepts, written: Written) -> None:
    dtype, optimizer = written.get("model_dtype"), written.value("optim")
    if dtype is None or dtype.value not in ("fp32", "fp16"):
        return
    # Apex's fused Adam without an optimisation level trains a model that is fp16 itself; all else is autocast.
    is_pure = dtype.value == "fp16" and optimizer == "fusedadam" and not written.value("apex_opt_level")
    put(concepts, "autocast", dtype, "fp16" if dtype.value == "fp16" and not is_pure else "none")
    put(concepts, "weights_dtype", dtype, "fp16" if is_pure else "fp32")


def _put_normalization(concepts: Concepts, written: Written) -> None:
    unit = last_of(written.get("normalization"))
    put(
        concepts,
        "loss_normalization",
        unit,
        {"sents": "examples", "tokens": "tokens"}.get(str(unit and unit.value)),
    )


_NORMS = {"standard": "layer_norm", "rms": "rms_norm"}

KIND = Kind(
    name="opennmt",
    tool="opennmt",
    title="OpenNMT-py YAML",
    syntaxes=frozenset({"yaml"}),
    recognises=recognises,
    describe=describe,
)
