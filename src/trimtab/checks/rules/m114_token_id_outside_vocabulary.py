"""M114 token-id-outside-vocabulary"""

from collections.abc import Iterator
from typing import Any, cast

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.setting import Setting

RULE = Rule(
    code="M114",
    name="token-id-outside-vocabulary",
    severity="error",
    message="`{key}` is {id}, but the embedding table has {size:,} rows, 0 to {last:,}",
    why="Looking up a row that is not there is an error on a CPU and a device-side assert on a GPU, with no "
    "word of which id it was. Of padding it may come only when a batch has two lengths. It is what a trimmed "
    "vocabulary leaves behind whose ids were not moved, or a new token whose table was not enlarged.",
    evidence=(
        Arithmetic("Rows are counted from 0: a table of V rows has the ids 0 to V - 1."),
        Maintainer(
            "https://github.com/OpenRLHF/OpenRLHF/issues/87",
            "With a new [PAD] the tokenizer has 32,001 entries, and the model's table 32,000 rows.",
        ),
    ),
    fix=Fix(
        "enlarge the table (`resize_token_embeddings`), or set the id that the token has in this vocabulary"
    ),
    bad=Example(
        "config.json",
        '{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "vocab_size": '
        '32000, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 32000}',
    ),
    good=Example(
        "config.json",
        '{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "vocab_size": '
        '32008, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 32000}',
    ),
    aliases=("TT304", "VOC001"),
    tips=("S0-41", "S0-123", "S0-124"),
    symptoms=(
        "device-side assert",
        "IndexError: index out of range in self",
        "crashes only with batch size above 1",
        "CUDA error: device-side assert triggered",
        "IndexError: index out of range in embedding",
    ),
)

TEXT_MODELS = frozenset(
    {
        "bart", "bert", "bloom", "distilbert", "falcon", "gemma", "gemma2", "gemma3_text", "gpt2", "gpt_neo",
        "gpt_neox", "gptj", "llama", "longt5", "m2m_100", "marian", "mbart", "mistral", "mixtral", "mt5", "olmo",
        "olmo2", "opt", "pegasus", "phi", "phi3", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "roberta", "smollm3",
        "stablelm", "starcoder2", "t5", "umt5", "xlm-roberta",
    }
)  # fmt: skip
"""Families whose one table has exactly `vocab_size` rows; models of sound and images have others beside it."""
_KEYS = (
    "pad_token_id",
    "bos_token_id",
    "eos_token_id",
    "sep_token_id",
    "decoder_start_token_id",
    "forced_bos_token_id",
    "forced_eos_token_id",
    "suppress_tokens",
    "begin_suppress_tokens",
    "bad_words_ids",
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires on config.json, and on generation_config.json where config.json is known."""
    size = _rows(run)
    if size is None:
        return
    for key in _KEYS:
        setting = run.written(key)
        outside = [found for found in _ids(setting) if found >= size]
        if setting is not None and outside:
            yield RULE.at(setting, id=outside[0], size=size, last=size - 1)


def _rows(run: Description) -> int | None:
    if run.kind not in ("model-config", "generation-config"):
        return None
    for model in (run, *run.nearby):
        size = model.value("vocab_size")
        if model.value("model_family") in TEXT_MODELS and size is not None and size > 0:
            return size
    return None


def _ids(setting: Setting | None) -> list[int]:
    value: Any = setting.value if setting is not None else None
    items = cast("list[Any]", value) if isinstance(value, list) else [value]
    flat = [
        inner for item in items for inner in (cast("list[Any]", item) if isinstance(item, list) else [item])
    ]
    return [item for item in flat if isinstance(item, int) and not isinstance(item, bool)]
