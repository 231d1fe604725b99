"""P118 layer-of-another-model-wrapped"""

from collections.abc import Iterator
from typing import Any, Final

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_YAML = (
    "base_model: meta-llama/Llama-3.1-8B\ndatasets:\n  - path: d.jsonl\n    type: alpaca\nlearning_rate: 1.0e-5\n"
    "micro_batch_size: 1\nnum_epochs: 1\nwarmup_steps: 50\nfsdp_version: 2\nfsdp_config:\n"
    "  auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  transformer_layer_cls_to_wrap: {layer}\n"
)

RULE = Rule(
    code="P118",
    name="layer-of-another-model-wrapped",
    severity="error",
    message="FSDP is to wrap each `{layer}`, which {family} models do not have: their layer is `{right}`",
    why="FSDP looks the class up in the model by its name and stops where it is not there, after the weights are "
    "loaded on every process. A file that was made for one model does not fit another.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/accelerate/blob/v1.15.0/src/accelerate/utils/dataclasses.py",
            '`raise ValueError(f"Could not find the transformer layer class {layer_class} in the model.")`',
        ),
        Maintainer(
            "https://github.com/netease-youdao/BCEmbedding/issues/66",
            "A launch file with BertLayer for an XLM-RoBERTa model.",
            opened=False,
        ),
    ),
    fix=Fix(
        "name `{right}`, or leave the option out: Accelerate takes the model's own layers",
        safety="same training",
    ),
    bad=Example("axolotl.yaml", _YAML.format(layer="Qwen2DecoderLayer")),
    good=Example("axolotl.yaml", _YAML.format(layer="LlamaDecoderLayer")),
    symptoms=("Could not find the transformer layer class to wrap in the model", "ValueError at start"),
)
LAYERS: Final[dict[str, tuple[str, ...]]] = {
    "bart": ("BartEncoderLayer", "BartDecoderLayer"),
    "bert": ("BertLayer",),
    "bloom": ("BloomBlock",),
    "falcon": ("FalconDecoderLayer",),
    "gemma": ("GemmaDecoderLayer",),
    "gemma2": ("Gemma2DecoderLayer",),
    "gpt2": ("GPT2Block",),
    "gpt_neox": ("GPTNeoXLayer",),
    "llama": ("LlamaDecoderLayer",),
    "mbart": ("MBartEncoderLayer", "MBartDecoderLayer"),
    "mistral": ("MistralDecoderLayer",),
    "mixtral": ("MixtralDecoderLayer", "MixtralSparseMoeBlock"),
    "mt5": ("MT5Block",),
    "opt": ("OPTDecoderLayer",),
    "phi": ("PhiDecoderLayer",),
    "phi3": ("Phi3DecoderLayer",),
    "qwen2": ("Qwen2DecoderLayer",),
    "qwen3": ("Qwen3DecoderLayer",),
    "roberta": ("RobertaLayer",),
    "t5": ("T5Block",),
    "whisper": ("WhisperEncoderLayer", "WhisperDecoderLayer"),
    "xlm-roberta": ("XLMRobertaLayer",),
}
"""By `model_type`, the layers of transformers' modelling code."""
_OWNED: Final = frozenset(name for names in LAYERS.values() for name in names)


def check(run: Description) -> Iterator[Diagnosis]:
    """Where the family is known and the class is known to belong to another one."""
    setting, family = run.setting("wrapped_layers"), run.value("model_family")
    own = LAYERS.get(family) if isinstance(family, str) else None
    if setting is None or own is None:
        return
    names: list[Any] = setting.value
    for layer in names:
        if layer in _OWNED and layer not in own:
            yield RULE.at(setting, layer=layer, family=family, right="` and `".join(own[:2]))
            return
