"""M310 flex-attention-with-dropout"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_JSON = (
    '{{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 512, "vocab_size": '
    "32000,\n"
    ' "num_attention_heads": 8, "attention_dropout": {dropout}, "_attn_implementation": "flex_attention"}}'
)

RULE = Rule(
    code="M310",
    name="flex-attention-with-dropout",
    severity="error",
    message="flex attention has no dropout, but `{key}` is {value}: the first training step fails",
    why="The kernel takes no dropout on attention weights, and transformers raises an error rather than to "
    "leave it out.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/integrations/flex_attention.py",
            "'`flex_attention` does not support `dropout`' is raised where it is above 0.",
        ),
    ),
    fix=Fix("set `{key}: 0.0`, or use sdpa"),
    bad=Example("config.json", _JSON.format(dropout=0.1)),
    good=Example("config.json", _JSON.format(dropout=0.0)),
    symptoms=("flex_attention does not support dropout",),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where both are said, in one file or by the run beside the model."""
    dropout = run.setting("attention_dropout")
    if run.tool != "transformers" or dropout is None or not 0 < dropout.value < 1:
        return
    kernels = {other.value("attention_kernel") for other in (run, *run.nearby)}
    if "flex_attention" in kernels:
        yield RULE.at(dropout, value=f"{dropout.value:g}")
