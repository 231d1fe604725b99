"""The options of Marian as the words of `concepts`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from trimtab.checks.keytable import KeyTable, overlaid
from trimtab.checks.kinds.concept_map import Concepts, as_type, is_list, positive, put, put_each, text_list
from trimtab.checks.kinds.nmt.marian_presets import implied
from trimtab.checks.kinds.nmt.units import Amount, read_amount, read_amounts
from trimtab.checks.kinds.optimizer_names import take_apart
from trimtab.checks.kinds.written import Written
from trimtab.checks.listed import numbers
from trimtab.checks.setting import Setting

TRANSFORMERS = frozenset(
    {"transformer", "transformer_s2s", "transformer-new", "multi-transformer", "shared-multi-transformer"}
)
TRANSLATES = TRANSFORMERS | {
    "amun", "nematus", "s2s", "multi-s2s", "shared-multi-s2s", "char-s2s",
}  # fmt: skip
LANGUAGE_MODELS = frozenset({"lm", "lm-transformer"})
SHORT = {
    "a": "after", "b": "beam-size", "c": "config", "d": "devices", "e": "after-epochs", "i": "input", "l": "learn-rate",
    "m": "model", "n": "normalize", "o": "optimizer", "p": "port", "t": "train-sets", "T": "tempdir", "v": "vocabs",
    "w": "workspace",
}  # fmt: skip
SHORT_DECODER = {**SHORT, "m": "models", "o": "output", "g": "gemm-type"}
DTYPES = {"float16": "fp16", "float32": "fp32"}
SCHEDULE = "lr-decay-inv-sqrt"
IMPLIED_SMOOTHING = 1e-4
"""What `--exponential-smoothing` without a value stands for."""

METRICS = {
    "cross-entropy": "loss", "ce-mean": "loss", "ce-sum": "loss", "ce-mean-words": "loss", "perplexity": "loss",
    "bleu": "bleu", "bleu-detok": "bleu", "bleu-segmented": "bleu", "chrf": "chrf",
}  # fmt: skip
"""Of `valid-metrics`, as `evaluate.metrics` calls them; perplexity has its best where the loss has."""


def with_presets(table: KeyTable, settings: Mapping[str, Setting]) -> KeyTable:
    """The table with the defaults that `task` and other shortcuts put in the place of Marian's own."""
    keys = {
        name: replace(table.keys[name], default=value, has_default=True)
        for name, value in implied(settings).items()
    }
    return overlaid(table, keys)


def put_marian(concepts: Concepts, written: Written) -> None:
    """Records the concepts of a whole run."""
    kind = written.get("type")
    name = str(kind.value) if kind is not None else ""
    if name in TRANSLATES or name in LANGUAGE_MODELS:
        put(concepts, "task", kind, "translation" if name in TRANSLATES else "language_model")
        put(concepts, "encoder_decoder", kind, name in TRANSLATES)
        begun = written.get("pretrained-model")
        put(concepts, "from_scratch", begun, not (begun and begun.value))
        put(concepts, "model_name", begun if begun is not None and begun.value else None)
    if name in TRANSFORMERS or name == "lm-transformer":
        _put_transformer(concepts, written)
    _put_precision(concepts, written)
    _put_optimizer(concepts, written)
    _put_schedule(concepts, written)
    _put_batch(concepts, written)
    _put_length(concepts, written)
    _put_files(concepts, written)
    _put_watch(concepts, written)
    put_each(
        concepts, written,
        {
            "label_smoothing": "label-smoothing", "clip": "clip-norm", "sequence_length": "max-length",
            "gradient_checkpointing": "gradient-checkpointing", "beam": "beam-size", "output_dir": "model",
        },
    )  # fmt: skip
    seed = written.get("seed")
    put(concepts, "seed", seed if seed is not None and seed.value else None)
    unit = written.get("cost-type")
    put(concepts, "loss_normalization", unit, _UNITS.get(str(unit and unit.value)))


_UNITS = {"ce-mean": "examples", "ce-mean-words": "tokens"}
"""`ce-sum` divides by nothing."""


def _put_transformer(concepts: Concepts, written: Written) -> None:
    put_each(
        concepts, written,
        {
            "hidden_size": "dim-emb", "layers": "dec-depth", "heads": "transformer-heads",
            "feed_forward": "transformer-dim-ffn", "encoder_layers": "enc-depth", "dropout": "transformer-dropout",
            "attention_dropout": "transformer-dropout-attention",
        },
    )  # fmt: skip
    activation = written.get("transformer-ffn-activation")
    put(
        concepts,
        "activation",
        activation,
        "silu" if activation and activation.value == "swish" else activation and activation.value,
    )
    tied = [written.get(name) for name in ("tied-embeddings-all", "tied-embeddings")]
    put(
        concepts,
        "tied_embeddings",
        next((each for each in tied if each and each.value is True), None) or tied[1],
    )
    before, after = written.get("transformer-preprocess"), written.get("transformer-postprocess")
    for setting, placement in ((after, "post"), (before, "pre")):
        letters = str(setting.value) if setting is not None else ""
        if "n" in letters or "r" in letters:
            put(concepts, "norm_placement", setting, placement)
            put(concepts, "norm", setting, "layer_norm" if "n" in letters else "rms_norm")
            break
    mask, off = (
        written.get("transformer-attention-mask"),
        written.get("transformer-disable-position-embeddings"),
    )
    trained = written.get("transformer-train-position-embeddings")
    if mask is not None and mask.value == "alibi":
        put(concepts, "positions", mask, "alibi")
    elif off is not None and off.value is True:
        put(concepts, "positions", off, "none")
    elif trained is not None:
        put(concepts, "positions", trained, "learned" if trained.value is True else "sinusoidal")


def _put_precision(concepts: Concepts, written: Written) -> None:
    setting = written.get("precision")
    kinds = text_list(setting.value) if setting is not None else None
    if not kinds or any(kind not in DTYPES for kind in kinds):
        return
    put(concepts, "autocast", setting, "fp16" if kinds[0] == "float16" else "none")
    # The second is the precision of the weights that the optimizer steps.
    put(concepts, "weights_dtype", setting, DTYPES[kinds[1] if len(kinds) > 1 else kinds[0]])


def _put_optimizer(concepts: Concepts, written: Written) -> None:
    chosen = written.get("optimizer")
    name = take_apart(chosen.value) if chosen is not None and isinstance(chosen.value, str) else None
    if name is not None:
        put(concepts, "optimizer", chosen, name.kind)
    put(concepts, "learning_rate", written.get("learn-rate"))
    params = written.get("optimizer-params")
    values = numbers(params.value) if params is not None else []
    # A part of a run may leave out the optimizer; two parameters are Adam's.
    is_adam = name.kind == "adam" if name is not None else len(values) > 1
    if params is None or not is_adam:
        return
    for index, (concept, default) in enumerate(
        (("beta1", 0.9), ("beta2", 0.999), ("epsilon", 1e-8), ("weight_decay", 0.0))
    ):
        setting = params if index < len(values) else written.default("optimizer-params", None)
        put(concepts, concept, setting, values[index] if index < len(values) else default)


def _put_schedule(concepts: Concepts, written: Written) -> None:
    """The rate rises over `lr-warmup`, to fall with the root of the steps from `lr-decay-inv-sqrt` on."""
    falls, factor, rise = written.get(SCHEDULE), written.get("lr-decay"), written.get("lr-warmup")
    amount = _first(falls)
    warmup = read_amount(rise.value) if rise is not None else None
    if amount is not None and amount.count > 0:
        put(concepts, "schedule", falls, "inverse_sqrt")
    elif factor is not None and as_type(factor.value, float):
        put(concepts, "schedule", factor, "stepwise")
    elif amount is not None and factor is not None and warmup is not None:
        put(
            concepts,
            "schedule",
            rise if warmup.count else falls,
            "constant_with_warmup" if warmup.count else "constant",
        )
    if warmup is not None and (warmup.unit == "updates" or warmup.count == 0):
        put(concepts, "warmup_steps", rise, warmup.count)


def _first(setting: Setting | None) -> Amount | None:
    value: Any = setting.value if setting is not None else None
    if isinstance(value, list):
        value = value[0] if value else None  # type: ignore[reportUnknownVariableType]
    return read_amount(value)  # type: ignore[reportUnknownArgumentType]


def _put_batch(concepts: Concepts, written: Written) -> None:
    """`mini-batch-fit` fills the workspace, so that nobody knows the size of a batch; its unit is as good as tokens."""
    words, fits, sentences = (
        written.get(name) for name in ("mini-batch-words", "mini-batch-fit", "mini-batch")
    )
    if fits is not None and fits.value is True:
        put(concepts, "batch_unit", fits, "tokens")
    elif words is not None and as_type(words.value, int):
        put(concepts, "micro_batch", words)
        put(concepts, "batch_unit", words, "tokens")
    elif fits is not None and words is not None:
        put(concepts, "micro_batch", sentences)
        put(
            concepts,
            "batch_unit",
            sentences if sentences is not None and sentences.is_written else words,
            "examples",
        )
    put(concepts, "accumulation", written.get("optimizer-delay"))
    devices = written.get("devices")
    put(concepts, "synchronous", written.get("sync-sgd"))
    put(concepts, "devices", devices, _num_devices(devices.value) if devices is not None else None)


def _num_devices(value: Any) -> int | None:
    """How many GPUs `0 1 2 3` are; None for `all`."""
    names = [str(each) for each in value] if is_list(value) else [str(value)]
    words = [word for name in names for word in name.split()]
    return len(words) if words and all(word.isdigit() for word in words) else None


def _put_length(concepts: Concepts, written: Written) -> None:
    after = written.get("after")
    for amount in read_amounts(after.value) if after is not None else ():
        concept = {"updates": "steps", "epochs": "epochs", "tokens": "tokens"}[amount.unit]
        put(concepts, concept, after if amount.count > 0 else None, amount.count)
    for concept, key in (("steps", "after-batches"), ("epochs", "after-epochs")):
        setting = written.get(key)
        number = as_type(setting.value, int) if setting is not None else None
        if number and number > 0:
            put(concepts, concept, setting)


def _put_watch(concepts: Concepts, written: Written) -> None:
    put(concepts, "patience", positive(written.get("early-stopping")))
    _put_stop_on(concepts, written)
    average = written.get("exponential-smoothing")
    put(
        concepts,
        "moving_average",
        average,
        IMPLIED_SMOOTHING if average and average.value is True else average and average.value,
    )


def _put_stop_on(concepts: Concepts, written: Written) -> None:
    """The metrics that `early-stopping` counts for: the first of `valid-metrics`, any or all of them; those that are
    measured here too."""
    if (patience := concepts.get("patience")) is None:
        return
    mode, named = written.get("early-stopping-on"), written.get("valid-metrics")
    metrics = (text_list(named.value) if named is not None else None) or ["cross-entropy"]
    which = mode.value if mode is not None else "first"
    watched = [METRICS.get(metric) for metric in (metrics[:1] if which == "first" else metrics)]
    if measured := list(dict.fromkeys(filter(None, watched))):
        said = f"{{{'all' if which == 'all' else 'any'}: [{', '.join(measured)}]}}"
        put(concepts, "stop_on", mode or named or patience, said)


def _put_files(concepts: Concepts, written: Written) -> None:
    trained, held = written.get("train-sets"), written.get("valid-sets")
    paths = text_list(trained.value) if trained is not None else None
    put(concepts, "corpora", trained if paths else None, paths)
    put(concepts, "validation", held, bool(held and held.value))
    put(concepts, "validation_files", held, text_list(held.value) if held is not None else None)
    for concept, key, strategy in (
        ("eval_steps", "valid-freq", "eval_strategy"),
        ("save_steps", "save-freq", "save_strategy"),
    ):
        setting = written.get(key)
        amount = read_amount(setting.value) if setting is not None else None
        if amount is not None and amount.unit == "updates":
            put(concepts, concept, setting, float(amount.count))
            put(concepts, strategy, setting, "steps")
        elif amount is not None and amount.unit == "epochs":
            put(concepts, strategy, setting, "epoch")
    vocabularies = written.get("vocabs")
    names = text_list(vocabularies.value) if vocabularies is not None else None
    put(
        concepts,
        "shared_vocabulary",
        vocabularies if names and len(names) > 1 else None,
        len(set(names or ())) == 1,
    )
    sizes = written.get("dim-vocabs")
    counts = numbers(sizes.value) if sizes is not None else []
    put(
        concepts, "vocab_size", sizes if counts and counts[-1] > 0 else None, int(counts[-1]) if counts else 0
    )
