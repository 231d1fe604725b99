"""What a hub name says for certain: family, encoder and decoder, number of parameters."""

import re

from trimtab.checks.kinds.concept_map import Concepts, put
from trimtab.checks.setting import Setting

ENCODER_DECODERS = frozenset(
    {
        "bart", "blenderbot", "fsmt", "led", "longt5", "m2m_100", "marian", "mbart", "mt5", "mvp", "nllb-moe",
        "pegasus", "pegasus_x", "plbart", "prophetnet", "speech_to_text", "switch_transformers", "t5", "t5gemma",
        "trocr", "udop", "umt5", "vision-encoder-decoder", "whisper", "encoder-decoder",
    }
)  # fmt: skip
DECODERS = frozenset(
    {
        "bloom", "cohere", "deepseek_v2", "deepseek_v3", "falcon", "gemma", "gemma2", "gemma3_text", "gpt2",
        "gpt_bigcode", "gpt_neo", "gpt_neox", "gptj", "granite", "gpt_oss", "llama", "mamba", "mistral", "mixtral",
        "mpt", "olmo", "olmo2", "opt", "phi", "phi3", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "smollm3",
        "stablelm", "starcoder2",
    }
)  # fmt: skip


def put_model_name(concepts: Concepts, setting: Setting | None) -> None:
    """Tells the name and all that follows from it."""
    put(concepts, "model_name", setting)
    if setting is None or not isinstance(setting.value, str):
        return
    family = family_of(setting.value)
    put(concepts, "model_family", setting, family)
    put(concepts, "parameters_billion", setting, billions_of(setting.value))
    if family:
        put_sides(concepts, setting, family)


def put_sides(concepts: Concepts, setting: Setting, family: str) -> None:
    """Whether models of this family have an encoder and a decoder, where that is known."""
    if family in ENCODER_DECODERS or family in DECODERS:
        put(concepts, "encoder_decoder", setting, family in ENCODER_DECODERS)


def family_of(name: str) -> str | None:
    """`model_type` of published models by their makers' naming; None for every other name."""
    lower = name.lower()
    return next(
        (family for part, pattern, family in _FAMILIES if part in lower and re.search(pattern, lower)), None
    )


def billions_of(name: str) -> float | None:
    """7.0 of `-7b`, 1.6 of `-1_6b`; of a mixture of experts that is named by its parts (`8x7B`, `17B-16E`) nothing is
    known."""
    own = name.rstrip("/").rpartition("/")[2]
    found = _SIZE.search(own)
    if found is None or _EXPERTS.search(own):
        return None
    return float(found[1].replace("_", ".")) / (1 if found[2].lower() == "b" else 1000)


_SIZE = re.compile(r"(?:^|[-_])(\d{1,4}(?:[._]\d{1,3})?)([bBmM])(?![A-Za-z0-9])")
_EXPERTS = re.compile(r"[-_]\d{1,4}E(?![A-Za-z0-9])")
_FAMILIES = (
    ("t5-", r"^(google-t5/)?t5-(small|base|large|3b|11b)$", "t5"),
    ("t5", r"^google/(flan-t5|t5-v1_1|t5-efficient)", "t5"),
    ("byt5", r"^google/byt5-", "t5"),
    ("mt5", r"^google/mt5-", "mt5"),
    ("umt5", r"^google/umt5-", "umt5"),
    ("t5", r"^google/long-t5-", "longt5"),
    ("opus-mt", r"^helsinki-nlp/opus-mt-", "marian"),
    ("nllb", r"^facebook/nllb-200-(distilled-)?(600m|1\.3b|3\.3b)", "m2m_100"),
    ("100", r"^(facebook|alirezamsh)/(m2m100|small100)", "m2m_100"),
    ("mbart", r"^facebook/mbart-large", "mbart"),
    ("bart", r"^facebook/bart-", "bart"),
    ("opt-", r"^facebook/opt-", "opt"),
    ("bert-", r"^(google-bert/)?bert-(base|large)-", "bert"),
    ("roberta", r"^(facebookai/)?xlm-roberta-(base|large)", "xlm-roberta"),
    ("roberta", r"^(facebookai/)?roberta-(base|large)", "roberta"),
    ("pegasus", r"^google/pegasus-", "pegasus"),
    ("trocr", r"^microsoft/trocr-", "trocr"),
    ("whisper", r"^openai/whisper-", "whisper"),
    ("gemma-2-", r"^google/gemma-2-", "gemma2"),
    ("gemma-", r"^google/gemma-\d+b", "gemma"),
    ("llama-", r"^(meta-llama|nousresearch|unsloth)/(meta-)?llama-[23]", "llama"),
    ("llama", r"^huggyllama/llama-|^tinyllama/tinyllama", "llama"),
    ("mistral", r"^mistralai/mistral-7b", "mistral"),
    ("mixtral", r"^mistralai/mixtral-", "mixtral"),
    ("qwen2", r"^qwen/qwen(2|2\.5)-(\d|coder|math)", "qwen2"),
    ("qwen3", r"^qwen/qwen3-\d+(\.\d+)?b(-base)?$", "qwen3"),
    ("gpt2", r"^(openai-community/|openai/)?gpt2(-medium|-large|-xl)?$", "gpt2"),
    ("pythia", r"^eleutherai/pythia-", "gpt_neox"),
    ("gpt-j", r"^eleutherai/gpt-j-", "gptj"),
    ("bloom", r"^bigscience/bloom", "bloom"),
    ("falcon", r"^tiiuae/falcon-(7b|40b|rw)", "falcon"),
    ("phi-", r"^microsoft/phi-(1|1_5|2)$", "phi"),
    ("phi-3", r"^microsoft/phi-3", "phi3"),
    ("smollm", r"^huggingfacetb/smollm2?-", "llama"),
)
"""A part that every such name has in lower case, so that few patterns are compiled; the pattern; the family."""
