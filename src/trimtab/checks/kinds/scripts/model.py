"""The model of a script: how it is loaded, adapted and given new tokens."""

from collections.abc import Mapping
from typing import Any, cast

from trimtab.checks.description import Version
from trimtab.checks.document import Call, Document
from trimtab.checks.keys.table import load_table
from trimtab.checks.kinds.concept_map import Concepts, put, text_list
from trimtab.checks.kinds.huggingface.adapter import adapter_concepts
from trimtab.checks.kinds.huggingface.loading import put_loading, put_quantization
from trimtab.checks.kinds.model_names import put_model_name
from trimtab.checks.kinds.scripts.calls import agreeing, may_be_of, positional, written_of
from trimtab.checks.kinds.written import Written
from trimtab.checks.setting import Setting

ADAPTERS = {"LoraConfig": "lora", "AdaLoraConfig": "adalora", "OFTConfig": "oft"}
NO_MODELS = ("Tokenizer", "Processor", "Config", "FeatureExtractor", "Peft", "Dataset")
"""Parts of class names whose `from_pretrained` loads something else."""


def loads(document: Document) -> list[Call]:
    """Calls that load a model's weights."""
    return [call for call in document.calls if call.name == "from_pretrained" and is_model(call.qualifier)]


def is_model(qualifier: str) -> bool:
    """Whether a class is that of a model: `AutoModelForCausalLM`, `MarianMTModel`, `unsloth.FastLanguageModel`."""
    name = qualifier.rpartition(".")[2]
    return ("Model" in name or "For" in name) and not any(part in name for part in NO_MODELS)


def loading_concepts(document: Document, versions: Mapping[str, Version]) -> Concepts:
    """Name, dtype, attention and quantization, where all models that are loaded agree."""
    calls = loads(document)
    each = [_load(call, document, versions) for call in calls]
    concepts: Concepts = {}
    for concept in dict.fromkeys(name for one in each for name in one):
        said = [one[concept] for one in each if concept in one]
        setting = agreeing(said) if len(said) == len(each) else None
        if setting is not None:
            concepts[concept] = setting
    for call in document.calls:
        if call.name == "BitsAndBytesConfig":
            put_quantization(concepts, written_of(call, document).settings)
        elif call.name == "from_config" and not calls and is_model(call.qualifier):
            put(concepts, "from_scratch", Setting(key=call.name, value=True, place=call.place))
    return concepts


def script_adapter(document: Document, versions: Mapping[str, Version]) -> Concepts:
    """The adapter, where the script makes exactly one."""
    calls = adapter_calls(document)
    if len(calls) != 1:
        return {}
    call = calls[0]
    method = ADAPTERS.get(call.name, "lora")
    written = written_of(call, document, load_table(f"peft_{method}", versions))
    concepts = adapter_concepts(written, method)
    put(concepts, "adapter", Setting(key=call.name, value=method, place=call.place))
    return concepts


def adapter_calls(document: Document) -> list[Call]:
    """Calls that configure an adapter of PEFT."""
    return [
        call
        for call in document.calls
        if (call.name in ADAPTERS and "peft" in document.imports and may_be_of(call, document, "peft"))
        or is_of_unsloth(call, document)
    ]


def is_of_unsloth(call: Call, document: Document) -> bool:
    """Whether a call is Unsloth's `FastLanguageModel.get_peft_model`, which takes the arguments of LoraConfig."""
    name = call.qualifier.rpartition(".")[2]
    return (
        call.name == "get_peft_model"
        and "unsloth" in document.imports
        and name.startswith("Fast")
        and name.endswith("Model")
    )


def x_transformer_concepts(document: Document) -> Concepts:
    """An encoder-decoder of x-transformers, where the script makes exactly one: its size, and its positions. Rotary and
    relative ones switch the absolute positions off that it has otherwise."""
    calls = [call for call in document.calls if call.name == "XTransformer"]
    concepts: Concepts = {}
    if len(calls) != 1 or "x_transformers" not in document.imports or calls[0].has_rest:
        return concepts
    call = calls[0]
    put(concepts, "from_scratch", Setting(key=call.name, value=True, place=call.place))
    put(concepts, "encoder_decoder", Setting(key=call.name, value=True, place=call.place))
    sizes = (("hidden_size", "dim"), ("layers", "dec_depth"), ("encoder_layers", "enc_depth"))
    for concept, name in (*sizes, ("vocab_size", "dec_num_tokens")):
        put(concepts, concept, positional(call, 99, name))
    for name, kind in (
        ("rotary_pos_emb", "rotary"),
        ("rel_pos_bias", "relative"),
        ("alibi_pos_bias", "alibi"),
    ):
        settings = [positional(call, 99, f"{side}_{name}") for side in ("enc", "dec")]
        is_on = all(setting is not None and setting.value is True for setting in settings)
        absolute = [positional(call, 99, f"{side}_use_abs_pos_emb") for side in ("enc", "dec")]
        is_alone = kind != "alibi" or all(
            setting is not None and setting.value is False for setting in absolute
        )
        if (
            is_on
            and is_alone
            and not any(f"{side}_disable_abs_pos_emb" in call.arguments for side in ("enc", "dec"))
        ):
            put(concepts, "positions", settings[0], kind)
    return concepts


def token_concepts(document: Document) -> Concepts:
    """Tokens that the script adds, where all of them are written out."""
    concepts: Concepts = {}
    calls = [call for call in document.calls if call.name in ("add_tokens", "add_special_tokens")]
    tokens: list[str] = []
    for call in calls:
        setting = positional(call, 0, "new_tokens" if call.name == "add_tokens" else "special_tokens_dict")
        added = _tokens(setting.value if setting else None)
        if added is None:
            return concepts
        tokens += added
    if calls:
        first = calls[0]
        put(concepts, "added_tokens", Setting(key=first.name, value=tokens, place=first.place))
    return concepts


def _load(call: Call, document: Document, versions: Mapping[str, Version]) -> Concepts:
    concepts: Concepts = {}
    put_model_name(concepts, positional(call, 0, "pretrained_model_name_or_path"))
    if "model_name" not in concepts and "model_name" in call.arguments:
        put_model_name(concepts, positional(call, 9, "model_name"))
    is_of_transformers = "transformers" in document.imports and "unsloth" not in document.imports
    written = written_of(call, document)
    hidden = written.hidden & {"dtype", "torch_dtype", "quantization_config"}
    plain = Written(
        path=written.path,
        settings=written.settings,
        hidden=written.hidden,
        is_whole=written.is_whole and not hidden,
        prefix=written.prefix,
    )
    put_loading(concepts, plain, versions, has_default=is_of_transformers)
    put(concepts, "from_scratch", Setting(key=call.name, value=False, place=call.place))
    return concepts


def _tokens(value: Any) -> list[str] | None:
    if isinstance(value, dict):
        names = [text_list(item) for item in cast("dict[str, Any]", value).values()]
        return None if None in names else [name for some in names for name in (some or [])]
    return text_list(value)
