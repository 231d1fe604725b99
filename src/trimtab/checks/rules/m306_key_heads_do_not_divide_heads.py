"""M306 key-heads-do-not-divide-heads"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_JSON = (
    '{{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 512, "vocab_size": '
    '32000,\n "num_hidden_layers": 8, "num_attention_heads": 8, "num_key_value_heads": {heads}}}'
)

RULE = Rule(
    code="M306",
    name="key-heads-do-not-divide-heads",
    severity="error",
    message="{heads} query heads cannot share {shared} key and value heads evenly",
    why="Each key head serves a whole number of query heads; with a remainder the shapes do not fit, and the "
    "first forward fails.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/models/llama/modeling_llama.py",
            "Keys and values are repeated `num_attention_heads // num_key_value_heads` times.",
        ),
        Arithmetic("8 query heads and 3 key heads: 3 * (8 // 3) = 6 heads of keys against 8 of queries."),
    ),
    fix=Fix("choose a divisor of {heads} for the key and value heads"),
    bad=Example("config.json", _JSON.format(heads=3)),
    good=Example("config.json", _JSON.format(heads=2)),
    symptoms=("shape mismatch in attention",),
)
_FAMILIES = frozenset(
    {
        "llama",
        "mistral",
        "mixtral",
        "qwen2",
        "qwen2_moe",
        "qwen3",
        "qwen3_moe",
        "gemma",
        "gemma2",
        "phi3",
        "olmo",
        "olmo2",
    }
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires for a model's own file of families that repeat keys so."""
    heads, shared = run.setting("heads"), run.setting("kv_heads")
    if (
        heads is None
        or shared is None
        or run.kind != "model-config"
        or run.value("model_family") not in _FAMILIES
    ):
        return
    if heads.value > 0 and shared.value > 0 and heads.value % shared.value:
        yield RULE.at(shared, heads=heads.value, shared=shared.value)
