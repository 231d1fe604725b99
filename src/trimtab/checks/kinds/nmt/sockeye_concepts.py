"""The options of Sockeye as the words of `concepts`."""

from dataclasses import replace
from typing import Any

from trimtab.checks.keytable import Key, KeyTable
from trimtab.checks.kinds.concept_map import Concepts, as_type, is_list, positive, put, put_each, text_list
from trimtab.checks.kinds.written import Written
from trimtab.checks.listed import numbers
from trimtab.checks.setting import Setting

SHORT = {
    "s": "source", "t": "target", "d": "prepared-data", "o": "output", "p": "params", "b": "batch-size",
    "vs": "validation-source", "vt": "validation-target", "sf": "source-factors", "tf": "target-factors",
    "vsf": "validation-source-factors", "vtf": "validation-target-factors", "sfc": "source-factors-combine",
    "tfc": "target-factors-combine",
}  # fmt: skip
SCHEDULES = {
    "none": "constant", "inv-sqrt-decay": "rsqrt", "linear-decay": "linear", "plateau-reduce": "plateau",
}  # fmt: skip
"""`inv-sqrt-decay` divides the learning rate by the root of the steps, so that what is written is a factor."""
POSITIONS = {"fixed": "sinusoidal", "learned": "learned", "none": "none"}


def underscored(table: KeyTable) -> KeyTable:
    """The same keys as `args.yaml` has them."""
    keys = {_flat(name): _renamed(key) for name, key in table.keys.items()}
    # A saved file is loaded without a look at its keys.
    return replace(table, keys=keys, unknown_keys="dropped", abbreviations=False)


def _renamed(key: Key) -> Key:
    return replace(key, name=_flat(key.name), renamed_to=_flat(key.renamed_to))


def _flat(name: str) -> str:
    return name.replace("-", "_")


def put_sockeye(concepts: Concepts, written: Written) -> None:
    """Records the concepts of a whole run; `written` has the keys of the command line."""
    begun = written.get("params")
    any_of_it = next(iter(written.settings.values()), None)
    put(concepts, "task", any_of_it, "translation")
    put(concepts, "encoder_decoder", any_of_it, True)
    put(concepts, "from_scratch", begun, not (begun and begun.value))
    put(concepts, "model_name", begun if begun is not None and begun.value else None)
    _put_model(concepts, written)
    _put_precision(concepts, written)
    _put_optimizer(concepts, written)
    _put_batch(concepts, written)
    _put_files(concepts, written)
    put_each(
        concepts, written, {"label_smoothing": "label-smoothing", "seed": "seed", "output_dir": "output"}
    )


def sides(value: Any) -> list[Any]:
    """The values of encoder and decoder, or of source and target: `6:6`, a list of two, or one for both."""
    values = value.split(":") if isinstance(value, str) else value
    if not is_list(values):
        return [values, values]
    return [values[0], values[-1]] if values else [None, None]


def _target(setting: Setting | None) -> float | None:
    """The number of the decoder's side."""
    found = numbers(sides(setting.value)) if setting is not None else []
    return found[-1] if found else None


def _put_model(concepts: Concepts, written: Written) -> None:
    for concept, name in (
        ("hidden_size", "transformer-model-size"), ("layers", "num-layers"), ("heads", "transformer-attention-heads"),
        ("feed_forward", "transformer-feed-forward-num-hidden"), ("dropout", "transformer-dropout-prepost"),
        ("attention_dropout", "transformer-dropout-attention"), ("sequence_length", "max-seq-len"),
    ):  # fmt: skip
        setting = written.get(name)
        put(concepts, concept, setting, _target(setting))
    layers = written.get("num-layers")
    first = numbers(sides(layers.value)) if layers is not None else []
    put(concepts, "encoder_layers", layers, first[0] if first else None)
    activation, gate = (
        written.get("transformer-activation-type"),
        written.get("transformer-feed-forward-use-glu"),
    )
    name = str(sides(activation.value)[-1]) if activation is not None else ""
    name = {"swish1": "silu"}.get(name, name)
    put(
        concepts,
        "activation",
        activation,
        f"gated-{name}" if gate is not None and gate.value is True else name,
    )
    tied = written.get("weight-tying-type")
    kind = str(tied and tied.value)
    put(concepts, "tied_embeddings", tied, kind.endswith("softmax"))
    shared = written.get("shared-vocab")
    put(
        concepts,
        "shared_vocabulary",
        tied if kind.startswith("src_trg") else shared,
        kind.startswith("src_trg") or bool(shared and shared.value),
    )
    for name, placement in (("transformer-postprocess", "post"), ("transformer-preprocess", "pre")):
        setting = written.get(name)
        if setting is not None and "n" in str(sides(setting.value)[-1]):
            put(concepts, "norm_placement", setting, placement)
            put(concepts, "norm", setting, "layer_norm")
            break
    positions = written.get("transformer-positional-embedding-type")
    put(concepts, "positions", positions, POSITIONS.get(str(positions and positions.value)))


def _put_precision(concepts: Concepts, written: Written) -> None:
    """16 bits come from these switches; `dtype` does nothing in training."""
    switches = {name: written.get(name) for name in ("amp", "apex-amp", "deepspeed-fp16", "deepspeed-bf16")}
    on = next((name for name, setting in switches.items() if setting and setting.value is True), None)
    if on is not None:
        put(concepts, "autocast", switches[on], "bf16" if on.endswith("bf16") else "fp16")
    else:
        put(concepts, "autocast", switches["amp"], "none")
    put(concepts, "weights_dtype", switches["amp"], "fp32")
    put(concepts, "tf32", written.get("tf32"))


def _put_optimizer(concepts: Concepts, written: Written) -> None:
    chosen = written.get("optimizer")
    put(concepts, "optimizer", chosen)
    put_each(concepts, written, {"learning_rate": "initial-learning-rate", "weight_decay": "weight-decay"})
    if chosen is not None and chosen.value == "adam":
        betas = written.get("optimizer-betas")
        values = numbers(sides(betas.value)) if betas is not None else []
        for concept, value in zip(("beta1", "beta2"), values, strict=False):
            put(concepts, concept, betas, value)
        put(concepts, "epsilon", written.get("optimizer-eps"))
    kind, threshold = written.get("gradient-clipping-type"), written.get("gradient-clipping-threshold")
    limit = as_type(threshold.value, float) if threshold is not None else None
    if kind is not None and kind.value == "none":
        put(concepts, "clip", kind, 0.0)
    elif kind is not None and kind.value == "norm" and limit is not None:
        put(concepts, "clip", threshold, max(0.0, limit))
    schedule, warmup = written.get("learning-rate-scheduler-type"), written.get("learning-rate-warmup")
    name = SCHEDULES.get(str(schedule and schedule.value))
    put(concepts, "schedule", schedule, name)
    if name == "constant":
        put(concepts, "warmup_steps", schedule, 0)
    else:
        put(concepts, "warmup_steps", warmup)


def _put_batch(concepts: Concepts, written: Written) -> None:
    put_each(concepts, written, {"micro_batch": "batch-size", "accumulation": "update-interval"})
    unit = written.get("batch-type")
    put(
        concepts,
        "batch_unit",
        unit,
        {"sentence": "examples", "word": "tokens", "max-word": "tokens"}.get(str(unit and unit.value)),
    )
    several = written.get("dist")
    if several is not None and several.value is False:
        put(concepts, "devices", several, 1)
    put(concepts, "steps", positive(written.get("max-updates")))
    if "steps" not in concepts:
        put(concepts, "epochs", positive(written.get("max-num-epochs")))


def _put_files(concepts: Concepts, written: Written) -> None:
    every = written.get("checkpoint-interval")
    for concept, strategy in (("eval_steps", "eval_strategy"), ("save_steps", "save_strategy")):
        put(concepts, concept, every)
        put(concepts, strategy, every, "steps")
    put(concepts, "keep_checkpoints", positive(written.get("keep-last-params")))
    data = [written.get(name) for name in ("source", "target", "prepared-data")]
    files = [
        setting
        for setting in data
        if setting is not None and isinstance(setting.value, str) and setting.value
    ]
    put(
        concepts,
        "corpora",
        files[0] if files else None,
        [setting.value for setting in files],
    )
    held = written.get("validation-source")
    put(concepts, "validation", held, bool(held and held.value))
    both = [each.value for each in (held, written.get("validation-target")) if each is not None]
    put(concepts, "validation_files", held, text_list(both))
    put(concepts, "patience", positive(written.get("max-num-checkpoint-not-improved")))
