"""A model's `config.json`: family, sizes, norms and positions, special ids."""

from collections.abc import Mapping

from trimtab.checks.description import Description
from trimtab.checks.document import Document
from trimtab.checks.kinds.concept_map import Concepts, as_type, put, text_list
from trimtab.checks.kinds.huggingface.families import FAMILIES, parameters_of
from trimtab.checks.kinds.huggingface.generation import put_generation
from trimtab.checks.kinds.huggingface.loading import put_quantization
from trimtab.checks.kinds.kind import Kind, Surroundings
from trimtab.checks.kinds.model_names import put_sides
from trimtab.checks.kinds.nearby import nearby
from trimtab.checks.kinds.written import Written, below, settings_of
from trimtab.checks.setting import Setting

NAMES: dict[str, tuple[str, ...]] = {
    "hidden_size": ("hidden_size", "d_model", "n_embd", "dim"),
    "layers": (
        "num_decoder_layers",
        "decoder_layers",
        "num_hidden_layers",
        "n_layer",
        "num_layers",
        "n_layers",
    ),
    "heads": ("decoder_attention_heads", "num_attention_heads", "n_head", "num_heads", "n_heads"),
    "kv_heads": ("num_key_value_heads",),
    "feed_forward": ("decoder_ffn_dim", "intermediate_size", "d_ff", "ffn_dim", "n_inner"),
    "vocab_size": ("vocab_size",),
    "dropout": ("dropout", "dropout_rate", "resid_pdrop", "hidden_dropout_prob", "hidden_dropout"),
    "attention_dropout": ("attention_dropout", "attn_pdrop", "attention_probs_dropout_prob"),
    "attention_kernel": ("_attn_implementation", "attn_implementation"),
}
"""What families call each size; the first that is there counts."""
TASKS = {
    "MarianMTModel": "translation",
    "M2M100ForConditionalGeneration": "translation",
    "VisionEncoderDecoderModel": "vision_text",
}

NEARBY = (
    "generation_config.json",
    "tokenizer_config.json",
    "preprocessor_config.json",
    "adapter_config.json",
)


def recognises(document: Document) -> bool:
    """`model_type` with an architecture or a size, and nothing of an adapter or a training run."""
    keys = document.entries
    if "peft_type" in keys or "output_dir" in keys or not isinstance(_value(document, "model_type"), str):
        return False
    return any(key in keys for key in ("architectures", "hidden_size", "d_model", "vocab_size", "n_embd"))


def describe(document: Document, surroundings: Surroundings) -> list[Description]:
    """One description of the model; nothing in it says how it is trained."""
    settings = settings_of(document.entries.values())
    return [
        Description(
            tool="transformers",
            kind=KIND.name,
            document=document,
            keys={setting.key: setting for setting in settings.values()},
            concepts=model_concepts(settings, document.path),
            versions=surroundings.versions,
            nearby=nearby(
                surroundings,
                "generation_config.json",
                "tokenizer_config.json",
                "preprocessor_config.json",
                "adapter_config.json",
            ),
        )
    ]


def model_concepts(settings: Mapping[str, Setting], path: str) -> Concepts:
    """What a `config.json` says, by dotted keys; of models with several parts the one that writes text."""
    concepts: Concepts = {}
    of_text = _text_part(settings)
    written = Written(path=path, settings=of_text)
    named = of_text.get("model_type") or settings.get("model_type")
    family = named.value if named is not None and isinstance(named.value, str) else ""
    put(concepts, "model_family", named, family or None)
    for concept, keys in NAMES.items():
        put(concepts, concept, next((of_text[key] for key in keys if key in of_text), None))
    _put_sides(concepts, settings, named, family)
    _put_ties(concepts, settings, of_text, written, family)
    known = FAMILIES.get(family)
    if known is not None and named is not None:
        for concept in ("norm", "norm_placement", "positions"):
            put(concepts, concept, named, known.get(concept))
        put(concepts, "parameters_billion", named, parameters_of(family, concepts, of_text))
    put_generation(concepts, {**settings, **of_text})
    put_quantization(concepts, settings)
    bits = settings.get("quantization_config.bits")
    put(concepts, "quantization_bits", bits, as_type(bits.value, int) if bits else None)
    return concepts


def _text_part(settings: Mapping[str, Setting]) -> Mapping[str, Setting]:
    for block in ("decoder", "text_config"):
        inner = below(settings, block)
        if "model_type" in inner or "hidden_size" in inner:
            return inner
    return settings


def _put_sides(
    concepts: Concepts, settings: Mapping[str, Setting], named: Setting | None, family: str
) -> None:
    whole = settings.get("model_type")
    if whole is not None and whole.value == "vision-encoder-decoder":
        put(concepts, "encoder_decoder", whole, True)
        put(concepts, "task", whole, "vision_text")
        return
    if named is not None:
        put_sides(concepts, named, family)
    put(concepts, "encoder_decoder", settings.get("is_encoder_decoder"))
    made = settings.get("architectures")
    names = text_list(made.value) if made is not None else None
    name = names[0] if names else ""
    task = "language_model" if name.endswith("ForCausalLM") else TASKS.get(name)
    put(concepts, "task", made, task or ("seq2seq" if name.endswith("ForConditionalGeneration") else None))


def _put_ties(
    concepts: Concepts,
    settings: Mapping[str, Setting],
    of_text: Mapping[str, Setting],
    written: Written,
    family: str,
) -> None:
    said = of_text.get("tie_word_embeddings") or settings.get("tie_word_embeddings")
    put(concepts, "tied_embeddings", said)
    if said is None and (known := FAMILIES.get(family)) is not None and "tied" in known:
        put(concepts, "tied_embeddings", written.default("tie_word_embeddings", known["tied"]))
    separate = settings.get("share_encoder_decoder_embeddings")
    put(concepts, "shared_vocabulary", separate)


def _value(document: Document, key: str) -> object:
    entry = document.entries.get(key)
    return None if entry is None else entry.value


KIND = Kind(
    name="model-config",
    tool="transformers",
    title="model config.json",
    syntaxes=frozenset({"json"}),
    recognises=recognises,
    describe=describe,
)
