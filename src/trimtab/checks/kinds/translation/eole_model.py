"""The block `model` of Eole: options of the whole, which win over what an encoder or decoder says by default."""

from trimtab.checks.kinds.concept_map import Concepts, put
from trimtab.checks.kinds.translation.training import positive
from trimtab.checks.kinds.written import Written
from trimtab.checks.setting import Setting

TASKS = {
    "transformer": "translation",
    "transformer_lm": "language_model",
    "rnn": "translation",
    "cnn": "translation",
}
POSITIONS = {
    "SinusoidalInterleaved": "sinusoidal",
    "SinusoidalConcat": "sinusoidal",
    "Learned": "learned",
    "Relative": "relative",
    "Rotary": "rotary",
    "Alibi": "alibi",
}
NORMS = {"standard": "layer_norm", "standardFP32": "layer_norm", "rms": "rms_norm", "gemma-rms": "rms_norm"}


def put_model(concepts: Concepts, model: Written) -> None:
    """Tells shape, positions, norms and embeddings; `model` has the keys of the block."""
    architecture = model.settings.get("architecture")
    name = str(architecture.value) if architecture is not None else "custom"
    put(concepts, "task", architecture, TASKS.get(name))
    put(concepts, "encoder_decoder", architecture, name != "transformer_lm" if name in TASKS else None)
    put(concepts, "hidden_size", _of_side(model, "hidden_size", architecture, 512))
    put(concepts, "layers", _of_side(model, "layers", architecture, 2))
    put(concepts, "tied_embeddings", _tied(model))
    if name not in ("transformer", "transformer_lm"):
        return
    put(concepts, "heads", _of_side(model, "heads", architecture, 8))
    put(concepts, "feed_forward", _of_side(model, "transformer_ff", architecture, 2048))
    put(concepts, "kv_heads", positive(model.settings.get("heads_kv")))
    norm = _of_side(model, "layer_norm", architecture, "standard")
    put(concepts, "norm", norm, NORMS.get(str(norm and norm.value)))
    put(concepts, "norm_placement", model.default("architecture", "pre"))
    kind = next(
        (
            model.settings[key]
            for key in ("embeddings.position_encoding_type", "position_encoding_type")
            if key in model.settings
        ),
        model.default("embeddings.position_encoding_type", "SinusoidalInterleaved"),
    )
    put(concepts, "positions", kind, "none" if kind.value is None else POSITIONS.get(str(kind.value)))


def _of_side(model: Written, key: str, architecture: Setting | None, default: object) -> Setting | None:
    """A decoder's own value, else the model's (-1 is not set), else the default of the tool."""
    for name in (f"decoder.{key}", key):
        setting = model.settings.get(name)
        if setting is not None and setting.value != -1:
            return setting
    return model.default(key, default) if architecture is not None else None


def _tied(model: Written) -> Setting | None:
    both = [model.get(key) for key in ("share_embeddings", "share_decoder_embeddings")]
    return next((setting for setting in both if setting is not None and setting.value is True), both[1])
