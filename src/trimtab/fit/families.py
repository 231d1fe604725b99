"""The shapes of other people's models, from the `config.json` that Hugging Face's transformers write.

The numbers of their weights are those of the classes in transformers, tied matrices once; tests build each model on the
meta device and compare. Settings that a file leaves out have the defaults of transformers. Activations are planned as
trimtab's own layers of the same sizes would keep them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from trimtab.errors import InputError, Problem, input_error
from trimtab.fit.native import layer_weights, norm_weights
from trimtab.fit.shape import Layer, Shape, Stack, Weights

Settings = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Family:
    """How to read the settings of one `model_type`."""

    needed: tuple[str, ...]
    """Settings without which nothing is known."""
    read: Callable[[Settings], Shape]
    task: str = "language_model"
    """What it is planned for."""


def family_shape(settings: Settings, *, name: str) -> tuple[Shape, str]:
    """The shape of a model, and the task it is for; `name` is for messages.

    Raises InputError for an architecture that is not known, with the sizes that its settings lack for one that is.
    """
    kind = settings.get("model_type")
    found = settings
    if str(kind) not in FAMILIES and isinstance(settings.get("text_config"), Mapping):
        found = settings["text_config"]
        kind = found.get("model_type")
    family = FAMILIES.get(str(kind))
    if family is None:
        raise input_error(
            f"{name}: an unknown architecture",
            got=f"model_type {str(kind)[:60]}" + _sizes_in(found),
            allowed=", ".join(FAMILIES),
            fix="describe it by a recipe: `model: {kind: decoder, dim: ..., heads: ..., layers: ..., feed_forward: "
            "...}`",
        )
    missing = [key for key in family.needed if found.get(key) is None]
    wrong = [key for key in family.needed if key not in missing and not _is_size(found[key])]
    if missing or wrong:
        problems = [
            Problem(
                what=f"{name}: {key} is missing" if key in missing else f"{name}: {key} is no size",
                got=str(found.get(key, "nothing"))[:60],
                allowed="a whole number from 1 to 99,999,999",
                fix="download the file again, or add the setting",
            )
            for key in (*missing, *wrong)
        ]
        raise InputError(*problems)
    try:
        return family.read(found), family.task
    except (TypeError, ValueError, KeyError, ZeroDivisionError, ArithmeticError) as error:
        raise input_error(
            f"{name}: its settings do not fit together",
            got=f"{type(error).__name__}: {error}"[:160],
            allowed="the config.json as the model's authors wrote it",
            fix="download the file again",
        ) from None


SIZES = ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size")


def _sizes_in(settings: Settings) -> str:
    missing = [key for key in SIZES if key not in settings]
    return f", without {', '.join(missing)}" if missing else ""


def _or(settings: Settings, key: str, default: Any) -> Any:
    value = settings.get(key)
    return default if value is None else value


def _divided(dim: int, heads: int) -> int:
    """The width of a head; ValueError where it is no whole number."""
    if dim % heads:
        raise ValueError(f"the width is {dim}, which {heads} heads do not divide")
    return dim // heads


def _size(settings: Settings, key: str, default: int) -> int:
    """A whole number above 0, or the default where there is none."""
    value = _or(settings, key, default)
    if not _is_size(value):
        raise ValueError(f"{key} is {str(value)[:40]}, not a whole number above 0")
    return value


def _switch(settings: Settings, key: str, *, default: bool) -> bool:
    """What is true or false, or the default where nothing is said."""
    value = _or(settings, key, default)
    if type(value) is not bool:
        raise ValueError(f"{key} is {str(value)[:40]!r}, neither true nor false")
    return value


def _drops(settings: Settings, key: str) -> bool:
    """Whether there is dropout, by default of a tenth."""
    share = _or(settings, key, 0.1)
    if type(share) not in (int, float) or not 0 <= share < 1:
        raise ValueError(f"{key} is {str(share)[:40]!r}, not a number from 0 to below 1")
    return share > 0


def _named(settings: Settings, key: str, default: str) -> str:
    """A word, or the default where there is none."""
    value = _or(settings, key, default)
    if not isinstance(value, str):
        raise ValueError(f"{key} is {str(value)[:40]}, not a name")
    return value


def _is_size(value: Any) -> bool:
    return type(value) is int and 0 < value < 10**8


def _llama_like(settings: Settings) -> Shape:
    """Llama, Mistral, Qwen2, Qwen3, Gemma 1 to 3 (text): RMSNorm, gated feed-forward blocks, rotary positions."""
    kind = settings["model_type"]
    gemma = kind.startswith("gemma")
    heads, dim = settings["num_attention_heads"], settings["hidden_size"]
    kept = _size(settings, "num_key_value_heads", KV_DEFAULTS.get(kind, heads))
    if heads % kept:
        raise ValueError(f"num_attention_heads is {heads}, which num_key_value_heads {kept} does not divide")
    usual = HEAD_DEFAULTS.get(kind)
    divides = usual is None and settings.get("head_dim") is None
    head_size = _divided(dim, heads) if divides else _size(settings, "head_dim", usual or 1)
    biased = _switch(settings, "attention_bias", default=False)
    of_qkv = kind == "qwen2"
    layer = Layer(
        dim=dim,
        heads=heads,
        kv_heads=kept,
        head_size=head_size,
        feed_forward=settings["intermediate_size"],
        gated=True,
        activation="geglu" if gemma else "swiglu",
        norm="rms",
        rotates=True,
        qk_norm=kind in ("qwen3", "gemma3_text", "gemma3"),
        keeps_half=True,
        biased=biased or of_qkv,
    )
    layers, tied = settings["num_hidden_layers"], _switch(settings, "tie_word_embeddings", default=gemma)
    weights = [Weights("embedding", (settings["vocab_size"], dim), "embedding")]
    if not tied:
        weights.append(Weights("output", (settings["vocab_size"], dim), "output"))
    weights += layer_weights(layer, layers, bias="qkv" if biased or of_qkv else False)
    if biased and not of_qkv:  # of the map after attention too
        weights.append(Weights("attention.out.bias", (dim,), "vector", layers))
    if kind == "llama" and _switch(settings, "mlp_bias", default=False):
        inner = settings["intermediate_size"]
        weights.append(Weights("feed_forward.up.bias", (2 * inner,), "vector", layers))
        weights.append(Weights("feed_forward.down.bias", (dim,), "vector", layers))
    if kind in ("gemma2", "gemma3_text", "gemma3"):  # norms after the sub-layers too
        weights += norm_weights("norms_after", "rms", dim, 2 * layers)
    weights += norm_weights("decoder.norm", "rms", dim)
    return _decoder_shape(layer, layers, weights, rows=settings["vocab_size"], tied=tied)


KV_DEFAULTS: Mapping[str, int] = {
    "mistral": 8, "qwen2": 32, "qwen3": 32, "gemma": 16, "gemma2": 4, "gemma3_text": 4, "gemma3": 4,
}  # fmt: skip
"""Heads of keys where a file says none; with Llama as many as of queries."""
HEAD_DEFAULTS: Mapping[str, int] = {
    "qwen3": 128, "gemma": 256, "gemma2": 256, "gemma3_text": 256, "gemma3": 256,
}  # fmt: skip


def _decoder_shape(layer: Layer, layers: int, weights: list[Weights], *, rows: int, tied: bool) -> Shape:
    return Shape(tuple(weights), (Stack(layer, layers),), layer.dim, rows, tied)


def _bart_like(settings: Settings) -> Shape:
    """NLLB and M2M100 (sinusoidal positions, norms first, a norm after each side) and Marian (norms after)."""
    kind, dim = settings["model_type"], settings["d_model"]
    m2m = kind == "m2m_100"
    vocabulary = settings["vocab_size"]
    gated_out = [Weights("embedding", (vocabulary, dim), "embedding")]
    if kind == "marian" and not _switch(settings, "share_encoder_decoder_embeddings", default=True):
        target = _size(settings, "decoder_vocab_size", vocabulary)
        gated_out.append(Weights("target_embedding", (target, dim), "embedding"))
    rows = _size(settings, "decoder_vocab_size", vocabulary) if kind == "marian" else vocabulary
    tied = _switch(settings, "tie_word_embeddings", default=True)
    if not tied:  # the tables of both sides are their own then, beside the one that neither of them uses
        gated_out += [Weights(f"{side}_embedding", (rows, dim), "embedding") for side in "st"]
        gated_out.append(Weights("output", (rows, dim), "output"))
    if kind == "marian":  # sines in a frozen parameter of each side
        positions = _size(settings, "max_position_embeddings", 1024)
        gated_out += [
            Weights(f"{side}_positions", (positions, dim), "position", trained=False) for side in "st"
        ]
    stacks: list[Stack] = []
    weights = gated_out
    for side in ("encoder", "decoder"):
        heads = settings[f"{side}_attention_heads"]
        layer = Layer(
            dim=dim,
            heads=heads,
            kv_heads=heads,
            head_size=_divided(dim, heads),
            feed_forward=settings[f"{side}_ffn_dim"],
            gated=False,
            activation="relu"
            if _named(settings, "activation_function", "relu" if m2m else "gelu") == "relu"
            else "gelu",
            norm_first=m2m,
            drops=_drops(settings, "dropout"),
            cross=side == "decoder",
            biased=True,
        )
        layers = settings[f"{side}_layers"]
        weights += layer_weights(layer, layers, bias=True)
        if m2m:
            weights += norm_weights(f"{side}.norm", "layer", dim)
        stacks.append(Stack(layer, layers, reads_source=side == "encoder"))
    return Shape(tuple(weights), tuple(stacks), dim, rows, tied, shares_source=True, final_norm=m2m)


def _t5_like(settings: Settings) -> Shape:
    """T5 and mT5: RMSNorm, no biases, relative positions of the first layer of each side, gated or ReLU."""
    dim, heads = settings["d_model"], settings["num_heads"]
    size = settings["d_kv"]
    mt5 = settings["model_type"] == "mt5"
    how = _named(settings, "feed_forward_proj", "gated-gelu" if mt5 else "relu")
    tied = _switch(settings, "tie_word_embeddings", default=not mt5)
    buckets = _size(settings, "relative_attention_num_buckets", 32)
    weights = [Weights("embedding", (settings["vocab_size"], dim), "embedding")]
    if not tied:
        weights.append(Weights("output", (settings["vocab_size"], dim), "output"))
    stacks: list[Stack] = []
    for side in ("encoder", "decoder"):
        layers = settings["num_layers"]
        if side == "decoder":
            layers = _size(settings, "num_decoder_layers", layers)
        layer = Layer(
            dim=dim,
            heads=heads,
            kv_heads=heads,
            head_size=size,
            feed_forward=settings["d_ff"],
            gated=how.startswith("gated"),
            activation="geglu" if how.startswith("gated") else how,
            norm="rms",
            drops=_drops(settings, "dropout_rate"),
            cross=side == "decoder",
        )
        weights += layer_weights(layer, layers, bias=False)
        weights += norm_weights(f"{side}.norm", "rms", dim)
        weights.append(Weights(f"{side}.bias_by_distance", (buckets, heads), "position"))
        stacks.append(Stack(layer, layers, reads_source=side == "encoder"))
    return Shape(
        tuple(weights), tuple(stacks), dim, settings["vocab_size"], tied, shares_source=True, padded=True
    )


def _encoder_like(settings: Settings) -> Shape:
    """BERT with its head for masked words, and ViT with its head for classes."""
    dim, heads = settings["hidden_size"], settings["num_attention_heads"]
    layers = settings["num_hidden_layers"]
    bert = settings["model_type"] == "bert"
    layer = Layer(
        dim=dim,
        heads=heads,
        kv_heads=heads,
        head_size=_divided(dim, heads),
        feed_forward=settings["intermediate_size"],
        gated=False,
        activation="gelu",
        norm_first=not bert,
        drops=bert and _drops(settings, "hidden_dropout_prob"),
        biased=bert or _switch(settings, "qkv_bias", default=True),
    )
    read = _bert_tables(settings, dim) if bert else _vit_tables(settings, dim)
    weights = [*read, *layer_weights(layer, layers, bias=True)]
    if not layer.biased:
        weights = [each for each in weights if each.name != "attention.qkv.bias"]
    rows = settings["vocab_size"] if bert else _labels(settings)
    return Shape(
        tuple(weights),
        (Stack(layer, layers, reads_source=True),),
        dim,
        rows,
        tied=bert,
        final_norm=not bert,
        one_target=True,
    )


def _bert_tables(settings: Settings, dim: int) -> list[Weights]:
    vocabulary = settings["vocab_size"]
    tables = [
        Weights("embedding", (vocabulary, dim), "embedding"),
        Weights("positions", (_size(settings, "max_position_embeddings", 512), dim), "position"),
        Weights("kinds", (_size(settings, "type_vocab_size", 2), dim), "position"),
        *norm_weights("embedding.norm", "layer", dim),
        Weights("head.weight", (dim, dim), "matrix"),
        Weights("head.bias", (dim,), "vector"),
        *norm_weights("head.norm", "layer", dim),
        Weights("output.bias", (vocabulary,), "vector"),
    ]
    if not _switch(settings, "tie_word_embeddings", default=True):
        tables.append(Weights("output", (vocabulary, dim), "output"))
    return tables


def _labels(settings: Settings) -> int:
    names: Any = settings.get("id2label")
    return len(names) if hasattr(names, "keys") else _size(settings, "num_labels", 2)


def _vit_tables(settings: Settings, dim: int) -> list[Weights]:
    side, patch = _size(settings, "image_size", 224), _size(settings, "patch_size", 16)
    channels, labels = _size(settings, "num_channels", 3), _labels(settings)
    if patch > side:
        raise ValueError(f"patch_size is {patch}, more than image_size {side}")
    patches = (side // patch) ** 2
    return [
        Weights("patches.weight", (dim, channels * patch * patch), "matrix"),
        Weights("patches.bias", (dim,), "vector"),
        Weights("first_token", (dim,), "position"),
        Weights("positions", (patches + 1, dim), "position"),
        *norm_weights("encoder.norm", "layer", dim),
        Weights("output", (labels, dim), "output"),
        Weights("output.bias", (labels,), "vector"),
    ]


_LLAMA = ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads")
_BART = (
    "vocab_size", "d_model", "encoder_layers", "decoder_layers", "encoder_attention_heads",
    "decoder_attention_heads", "encoder_ffn_dim", "decoder_ffn_dim",
)  # fmt: skip
_T5 = ("vocab_size", "d_model", "d_kv", "d_ff", "num_layers", "num_heads")
_VIT = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads")
FAMILIES: Mapping[str, Family] = {
    **{
        kind: Family(_LLAMA, _llama_like)
        for kind in ("llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3_text")
    },
    **{kind: Family(_T5, _t5_like, "translation") for kind in ("t5", "mt5")},
    **{kind: Family(_BART, _bart_like, "translation") for kind in ("m2m_100", "marian")},
    "bert": Family((*_VIT, "vocab_size"), _encoder_like, "classification"),
    "vit": Family(_VIT, _encoder_like, "classification"),
}
"""By `model_type`; NLLB writes m2m_100, Gemma 3 with images has a text_config of gemma3_text."""
