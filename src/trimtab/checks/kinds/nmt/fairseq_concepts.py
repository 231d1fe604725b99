"""The options of fairseq as the words of `concepts`, on a command line and in Hydra's YAML."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from trimtab.checks.keytable import Key, KeyTable, overlaid
from trimtab.checks.kinds.concept_map import Concepts, as_type, positive, put, put_each
from trimtab.checks.kinds.nmt.fairseq_architectures import ARCHITECTURES, with_architecture
from trimtab.checks.kinds.optimizer_names import take_apart
from trimtab.checks.kinds.written import Written
from trimtab.checks.listed import numbers
from trimtab.checks.setting import Setting

SHORT = {"a": "arch", "s": "source-lang", "t": "target-lang"}
TRANSLATES = frozenset(
    {
        "translation", "translation_multi_simple_epoch", "multilingual_translation", "translation_lev",
        "translation_from_pretrained_bart", "translation_from_pretrained_xlm", "semisupervised_translation",
        "online_backtranslation", "simul_text_to_text",
    }
)  # fmt: skip
LANGUAGE_MODELS = frozenset({"language_modeling", "multilingual_language_modeling"})
OF_TEXT = (
    TRANSLATES | LANGUAGE_MODELS | {"masked_lm", "denoising", "multilingual_denoising", "cross_lingual_lm"}
)
"""Tasks whose `max-tokens` counts tokens; others count samples of sound, or patches."""
SMOOTHED = "label_smoothed_cross_entropy"
SCHEDULES = {
    "inverse_sqrt": "inverse_sqrt", "polynomial_decay": "polynomial", "cosine": "cosine", "tri_stage": "tri_stage",
    "reduce_lr_on_plateau": "plateau", "triangular": "triangular",
}  # fmt: skip
WARMED_UP = {"inverse_sqrt": 4000, "polynomial_decay": 0, "cosine": 0, "fixed": 0, "reduce_lr_on_plateau": 0}
"""Warm-up of each schedule where none is written."""
GROUPS = {
    "model._name": "arch", "model.arch": "arch", "task._name": "task", "criterion._name": "criterion",
    "optimizer._name": "optimizer", "lr_scheduler._name": "lr-scheduler", "task.data": "data",
}  # fmt: skip
_SIDES = ("encoder", "decoder", "quant_noise")


def flat_names(settings: Mapping[str, Setting]) -> dict[str, Setting]:
    """Settings of Hydra's YAML under the names that the command line has for them: `optimization.lr` as `lr`."""
    concepts: dict[str, Setting] = {}
    for key, setting in settings.items():
        # `model: transformer` is the whole of a group.
        whole = f"{key}._name"
        name = GROUPS[whole] if whole in GROUPS and isinstance(setting.value, str) else flat_name(key)
        if name:
            concepts[name] = setting
    return concepts


def flat_name(key: str) -> str:
    """The option of the command line for a key of Hydra's YAML; empty for a group."""
    if key in GROUPS:
        return GROUPS[key]
    _, _, rest = key.partition(".")
    side, _, inner = rest.partition(".")
    name = f"{side}_{inner}" if side in _SIDES and inner else rest
    return name.replace("_", "-")


def for_run(table: KeyTable, settings: Mapping[str, Setting], *, default: str = "") -> KeyTable:
    """The table with what the architecture sets."""
    chosen = settings.get("arch")
    return with_architecture(table, str(chosen.value) if chosen is not None else default)


LOWEST_RATE = Key(name="min-lr", renamed_to="stop-min-lr", removed_in="0.12.0")
"""An option of every run up to 0.10; now one of two schedules."""


def is_of_a_fork(table: KeyTable, settings: Mapping[str, Setting]) -> bool:
    """Whether a name is chosen that fairseq itself has not, nor any like it: then it is extended from somewhere."""
    from trimtab.checks.nearest import nearest  # only where there is a run of fairseq

    for name in ("arch", "task", "criterion", "optimizer", "lr-scheduler"):
        chosen = settings[name].value if name in settings else None
        known = [str(choice) for choice in table.keys[name].choices]
        if isinstance(chosen, str) and chosen not in known and not nearest(chosen, known, cutoff=0.75):
            return True
    return False


def without_lowest_rate(table: KeyTable, settings: Mapping[str, Setting]) -> KeyTable:
    """The table of a run whose schedule has no `min-lr`."""
    chosen = settings.get("lr-scheduler")
    if "min-lr" not in settings or (chosen is not None and chosen.value in ("cosine", "step")):
        return table
    return overlaid(table, {"min-lr": LOWEST_RATE})


def as_extended(table: KeyTable, names: Iterable[str]) -> KeyTable:
    """The table of a run with `user-dir`: its code may add options and names of models; slips are still reported."""
    chosen = ("model.", "task.", "criterion.")  # in Hydra's YAML: what is in them belongs to the plug-in
    keys = {name: replace(key, choices=()) for name, key in table.keys.items() if not name.startswith(chosen)}
    for name in names:
        if table.key(name) is None and not _is_slip(name, table):
            keys[name] = Key(name=name, open=True)
    return replace(table, keys=keys, unknown_keys="kept")


def _is_slip(name: str, table: KeyTable) -> bool:
    """As many words as a known name, and nearly its letters."""
    from difflib import get_close_matches  # only where a name is unknown

    near = get_close_matches(name, table.keys, n=3, cutoff=0.9)
    return any(known.count("-") == name.count("-") and known.count("_") == name.count("_") for known in near)


def put_fairseq(concepts: Concepts, written: Written) -> None:
    """Records the concepts of a whole run; `written` has the names of the command line."""
    _put_task(concepts, written)
    _put_model(concepts, written)
    _put_precision(concepts, written)
    _put_optimizer(concepts, written)
    _put_schedule(concepts, written)
    _put_batch(concepts, written)
    _put_checkpoints(concepts, written)
    put_each(concepts, written, {"seed": "seed", "clip": "clip-norm", "output_dir": "save-dir"})
    loss = written.get("criterion")
    if loss is not None and str(loss.value).startswith(SMOOTHED):
        put(concepts, "label_smoothing", written.get("label-smoothing"))
    elif loss is not None and loss.value == "cross_entropy":
        put(concepts, "label_smoothing", loss, 0.0)
    unit = written.get("sentence-avg")
    put(concepts, "loss_normalization", unit, "examples" if unit is not None and unit.value else "tokens")


def _put_task(concepts: Concepts, written: Written) -> None:
    task = written.get("task")
    name = str(task and task.value)
    if name in TRANSLATES or name in LANGUAGE_MODELS:
        put(concepts, "task", task, "translation" if name in TRANSLATES else "language_model")
        put(concepts, "encoder_decoder", task, name in TRANSLATES)
    # A name in the folder of the run is where it resumes from; a path leads to weights of another.
    begun = [written.get(key) for key in ("finetune-from-model", "restore-file")]
    other = next((each for each in begun if each is not None and _is_other(each)), None)
    if other is not None:
        put(concepts, "from_scratch", other, False)
        put(concepts, "model_name", other)
    elif name in OF_TEXT and all(written.knows(key) for key in ("finetune-from-model", "restore-file")):
        put(concepts, "from_scratch", begun[0], "pretrained" not in name)
    data = written.get("data")
    if data is not None and isinstance(data.value, str):
        put(concepts, "corpora", data, data.value.split(":"))


def _is_other(setting: Setting) -> bool:
    return isinstance(setting.value, str) and setting.value not in ("", "checkpoint_last.pt")


def _put_model(concepts: Concepts, written: Written) -> None:
    chosen = written.get("arch")
    if chosen is None or str(chosen.value) not in ARCHITECTURES:
        return
    for concept, names in (
        ("hidden_size", ("decoder-embed-dim", "encoder-embed-dim")),
        ("layers", ("decoder-layers",)),
        ("encoder_layers", ("encoder-layers",)),
        ("activation", ("activation-fn",)),
        ("heads", ("decoder-attention-heads",)),
        ("feed_forward", ("decoder-ffn-embed-dim", "encoder-ffn-embed-dim")),
        ("dropout", ("dropout",)),
        ("attention_dropout", ("attention-dropout",)),
        ("sequence_length", ("max-target-positions",)),
        ("gradient_checkpointing", ("checkpoint-activations",)),
    ):
        if not any(written.is_hidden(name) for name in names):
            put(concepts, concept, next((each for name in names if (each := written.get(name))), None))
    before = written.get("decoder-normalize-before")
    put(concepts, "norm_placement", before, "pre" if before is not None and before.value else "post")
    put(concepts, "norm", written.default("arch", "layer_norm"))
    off, learned = written.get("no-token-positional-embeddings"), written.get("decoder-learned-pos")
    if off is not None and off.value is True:
        put(concepts, "positions", off, "none")
    elif learned is not None:
        put(concepts, "positions", learned, "learned" if learned.value is True else "sinusoidal")
    shared, tied = written.get("share-all-embeddings"), written.get("share-decoder-input-output-embed")
    if shared is not None and shared.value is True:
        put(concepts, "tied_embeddings", shared)
        put(concepts, "shared_vocabulary", shared)
    else:
        put(concepts, "tied_embeddings", tied)


def _put_precision(concepts: Concepts, written: Written) -> None:
    """Without a copy of the weights in 32 bits only where memory is to be saved."""
    for kind in ("fp16", "bf16"):
        saved, plain = written.get(f"memory-efficient-{kind}"), written.get(kind)
        if saved is not None and saved.value is True:
            put(concepts, "autocast", saved, "none")
            put(concepts, "weights_dtype", saved, kind)
            return
        if plain is not None and plain.value is True:
            put(concepts, "autocast", plain, kind)
            put(concepts, "weights_dtype", plain, "fp32")
            return
    amp = written.get("amp")
    put(concepts, "autocast", amp, "fp16" if amp is not None and amp.value is True else "none")
    put(concepts, "weights_dtype", amp, "fp32")


def _put_optimizer(concepts: Concepts, written: Written) -> None:
    """Its Adam takes the weight decay off the weights, as AdamW does."""
    chosen = written.get("optimizer")
    name = take_apart(chosen.value) if chosen is not None and isinstance(chosen.value, str) else None
    if chosen is not None and name is not None:
        put(concepts, "optimizer", chosen, "adamw" if name.kind == "adam" else name.kind)
        put(concepts, "optimizer_variant", chosen)
    elif chosen is not None and isinstance(chosen.value, str):
        put(concepts, "optimizer", chosen)
    rate = written.get("lr")
    rates = numbers(rate.value) if rate is not None else []
    put(concepts, "learning_rate", rate if rates else None, rates[0] if rates else 0.0)
    if name is not None and name.kind == "adam":
        betas = written.get("adam-betas")
        values = numbers(betas.value) if betas is not None else []
        for concept, value in zip(("beta1", "beta2"), values, strict=False):
            put(concepts, concept, betas, value)
        put_each(concepts, written, {"epsilon": "adam-eps", "weight_decay": "weight-decay"})
    elif "weight-decay" in written.settings:
        put(concepts, "weight_decay", written.settings["weight-decay"])


def _put_schedule(concepts: Concepts, written: Written) -> None:
    chosen, warmup = written.get("lr-scheduler"), written.settings.get("warmup-updates")
    name = str(chosen and chosen.value)
    if chosen is None:
        return
    if warmup is None and not written.is_hidden("warmup-updates") and written.is_whole and name in WARMED_UP:
        warmup = written.default("warmup-updates", WARMED_UP[name])
    put(concepts, "warmup_steps", warmup)
    if name == "fixed":
        count = as_type(warmup.value, int) if warmup is not None else None
        put(concepts, "schedule", chosen, "constant_with_warmup" if count else "constant")
    else:
        put(concepts, "schedule", chosen, SCHEDULES.get(name, name))


def _put_batch(concepts: Concepts, written: Written) -> None:
    """Tokens count for both sides with their padding; `batch-size` limits the sentences in place of them, or too."""
    task, tokens = written.get("task"), written.get("max-tokens")
    if task is not None and str(task.value) not in OF_TEXT:
        tokens = None
    sentences = next(
        (written.settings[name] for name in ("batch-size", "max-sentences") if name in written.settings), None
    )
    if tokens is not None and as_type(tokens.value, int):
        put(concepts, "micro_batch", tokens)
        put(concepts, "batch_unit", tokens, "tokens")
    elif sentences is not None and tokens is not None:
        put(concepts, "micro_batch", sentences)
        put(concepts, "batch_unit", sentences, "examples")
    often = written.get("update-freq")
    counts = numbers(often.value) if often is not None else []
    put(concepts, "accumulation", often if counts else None, int(counts[-1]) if counts else 0)
    put(concepts, "devices", positive(written.settings.get("distributed-world-size")))
    put(concepts, "steps", positive(written.get("max-update")))
    if "steps" not in concepts:
        put(concepts, "epochs", positive(written.get("max-epoch")))
    put(concepts, "dataloader_workers", written.get("num-workers"))


def _put_checkpoints(concepts: Concepts, written: Written) -> None:
    for concept, key, strategy in (
        ("eval_steps", "validate-interval-updates", "eval_strategy"),
        ("save_steps", "save-interval-updates", "save_strategy"),
    ):
        setting = positive(written.get(key))
        put(concepts, concept, setting)
        put(concepts, strategy, setting or written.get(key), "steps" if setting is not None else "epoch")
    off = written.get("disable-validation")
    put(concepts, "validation", off, not (off and off.value))
    put(concepts, "patience", positive(written.get("patience")))
    averaged, decay = written.get("store-ema"), written.get("ema-decay")
    share = as_type(decay.value, float) if decay is not None else None
    if averaged is not None and averaged.value is True and share is not None:
        put(concepts, "moving_average", decay, 1 - share)
    for name in ("keep-last-epochs", "keep-interval-updates"):
        put(concepts, "keep_checkpoints", positive(written.get(name)))
