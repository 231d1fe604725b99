"""The shape of a translation model as the branch `model` of a recipe."""

from typing import Any, cast, get_args

from trimtab.checks.conversion import nmt
from trimtab.checks.conversion.draft import Draft, number
from trimtab.checks.conversion.modular import modules_of, write_directions
from trimtab.checks.conversion.source_factors import appends_factors
from trimtab.config.positions import EncoderPositions

POSITIONS = get_args(EncoderPositions)
NORMS = {"layer_norm": "layer", "rms_norm": "rms"}
ACTIVATIONS = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu-tanh": "gelu",
    "quick_gelu": "gelu",
    "silu": "swiglu",
    "gated-silu": "swiglu",
    "gated-gelu": "geglu",
}
OF_NMT = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_accurate": "gelu",
    "gelu_fast": "gelu",
    "silu": "silu",
    "swish": "silu",
    "gated-silu": "swiglu",
    "gated-gelu": "geglu",
}
"""By the words of the concept; without a gate, unless they say so."""
SIZES = ("hidden_size", "heads", "layers", "feed_forward")


def write_model(draft: Draft) -> None:
    """Writes the sizes where all four are known and fit together, else a preset."""
    values = {name: draft.run.value(name) for name in SIZES}
    modules = modules_of(draft)
    draft.say("model:")
    draft.say(f"kind: {'modular' if modules else 'encoder_decoder'}", level=1)
    if problem := _misfit(values):
        layers = "" if modules else ", 6 + 6 layers"
        draft.say("preset: base", level=1, comment=f"{problem}: 512 wide, 8 heads{layers}")
        draft.note(f"{problem}; the preset base is used instead")
    else:
        _write_sizes(draft, is_modular=modules is not None)
    dropout = draft.take("dropout")
    if dropout is not None and 0 <= dropout.value < 1:
        draft.put("dropout", dropout.value, level=1, source=dropout)
    attention = draft.take("attention_dropout")
    if attention is not None and attention.value > 0:
        draft.note(
            f"dropout of {number(attention.value)} on attention weights has no counterpart: no fast kernel has it"
        )
    _write_positions(draft)
    placement = draft.take("norm_placement")
    if placement is not None and placement.value == "post":
        draft.put("norm_position", "after", level=1, source=placement)
    norm = draft.take("norm")
    if norm is not None and norm.value in NORMS:
        draft.put("norm", NORMS[norm.value], level=1, source=norm)
    _write_activation(draft)
    _write_tying(draft)
    if modules is not None:
        write_directions(draft, modules)
    draft.account(draft.run.setting("shared_vocabulary"))
    write_start(draft)


def write_start(draft: Draft) -> None:
    """Says how to begin from weights; those of another tool cannot be read."""
    start = draft.key(
        "train_from", "training.train_from", "pretrained-model", "params", "finetune-from-model", "restore-file",
        "checkpoint.finetune_from_model", "checkpoint.restore_file",
    )  # fmt: skip
    if start is not None and start.value:
        draft.say(comment=f"warm_start: RUN, in the place of {draft.origin(start)}", level=1)


def _misfit(values: dict[str, Any]) -> str:
    """Why these sizes are no transformer's, empty if they are."""
    missing = [name.replace("_", " ") for name, value in values.items() if value is None or value < 1]
    if missing:
        return f"no {' and no '.join(missing)} of a transformer can be read there"
    width, heads = values["hidden_size"], values["heads"]
    if width % heads or width % 2 or width < 8:
        return f"{heads} heads do not divide a width of {width}"
    return ""


def _write_sizes(draft: Draft, *, is_modular: bool = False) -> None:
    for key, concept in (("dim", "hidden_size"), ("heads", "heads")):
        setting = draft.take(concept)
        draft.put(key, setting.value if setting is not None else None, level=1, source=setting)
    if not is_modular:
        _write_layers(draft)
    feed = draft.take("feed_forward")
    draft.put("feed_forward", feed.value if feed is not None else None, level=1, source=feed)


def _write_layers(draft: Draft) -> None:
    layers = draft.take("layers")
    number_of_layers = layers.value if layers is not None else 6
    sides = {
        "encoder_layers": draft.key("enc_layers", "model.encoder.layers"),
        "decoder_layers": draft.key("dec_layers", "model.decoder.layers"),
    }
    whole = draft.run.keys.get("layers") or draft.run.keys.get("model.layers")
    if (encoder := draft.take("encoder_layers")) is not None:
        draft.put("encoder_layers", encoder.value, level=1, source=encoder)
        draft.put("decoder_layers", number_of_layers, level=1, source=layers)
        sides = {}
    for key, side in sides.items():
        own = _sum_of(side.value) if side is not None and whole is None else None
        draft.put(key, own or number_of_layers, level=1, source=side if own else layers)


def _sum_of(value: Any) -> int | None:
    """A number of layers, or that of all stacks together."""
    counts: list[Any] = list(cast("list[Any]", value)) if isinstance(value, list) else [value]
    return sum(counts) if all(isinstance(count, int) and count > 0 for count in counts) else None


def _write_positions(draft: Draft) -> None:
    kind = draft.take("positions")
    if kind is None:
        return
    if kind.value == "alibi" and draft.run.tool in nmt.TOOLS:
        draft.put("positions", "sinusoidal", level=1, why="of the encoder, whose ALiBi has no counterpart")
        draft.put("decoder_positions", "alibi", level=1, source=kind)
    elif kind.value in POSITIONS:
        draft.put("positions", kind.value, level=1, source=kind)
    else:
        draft.put("positions", "sinusoidal", level=1, why=f"{kind.value} there, which has no counterpart")
        draft.note(
            f"positions of the kind {kind.value} have no counterpart; sinusoidal ones are used instead"
        )


def _write_activation(draft: Draft) -> None:
    chosen = draft.key("pos_ffn_activation_fn", "model.mlp_activation_fn")
    if (setting := draft.take("activation")) is not None:
        draft.put("activation", OF_NMT.get(setting.value, "relu"), level=1, source=setting)
        if setting.value not in OF_NMT:
            draft.note(f"the activation {setting.value} has no counterpart; ReLU is used instead")
        return
    if draft.run.tool == "mammoth":
        draft.put("activation", "geglu", level=1, why="a gate with GELU there, by default")
        return
    if chosen is None:
        return
    kind = ACTIVATIONS.get(str(chosen.value))
    draft.put("activation", kind or "relu", level=1, source=chosen, why="" if kind else "no counterpart")


def _write_tying(draft: Draft) -> None:
    """One matrix for all three where source and target share theirs; target and output share one in any case."""
    if draft.run.tool in nmt.TOOLS:
        kind, source = nmt.ties(draft)
        if appends_factors(draft) and kind in ("", "all"):
            kind = "decoder"
        if kind:
            draft.put("tie_embeddings", kind, level=1, source=source)
        return
    shared = draft.key("share_embeddings", "model.share_embeddings")
    output = draft.key("share_decoder_embeddings", "model.share_decoder_embeddings")
    inner = draft.key("x_transformers_opts.tie_embedding")
    all_of_them = shared is not None and shared.value is True
    draft.account(draft.run.setting("tied_embeddings"))
    draft.put(
        "tie_embeddings", "all" if all_of_them else "decoder", level=1, source=shared or output or inner
    )
    if not any(setting is not None and setting.value is True for setting in (shared, output, inner)):
        draft.note("embeddings of target and output were two matrices there; here they are one")
