"""S307 fp16-on-bf16-family"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.half_precision import OVERFLOWING
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="S307",
    name="fp16-on-bf16-family",
    severity="warning",
    message="{family} was pretrained in bf16, and this run calculates in fp16, whose largest number is "
    "65,504",
    why="These models have activations beyond the range of fp16. The loss becomes NaN, or the loss scaler "
    "halves itself until nothing is learned; small models may get through.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/issues/23918",
            "t5-large and flan-t5-xl give NaN in half precision; t5-small and t5-base train.",
        ),
        Maintainer(
            "https://github.com/huggingface/transformers/issues/5651",
            "T5's feed-forward reaches 66,246 after 34 steps of fp16 training.",
        ),
        Maintainer(
            "https://github.com/google-research/text-to-text-transfer-transformer/issues/539",
            'One of the authors: "All of our experiments use bfloat16 activations."',
        ),
        Maintainer(
            "https://github.com/huggingface/transformers/pull/37226",
            "Gemma 3's activations go beyond fp16's range; another report has up to 800,000 for "
            "EmbeddingGemma.",
        ),
    ),
    fix=Fix("set bf16 in place of fp16; on a GPU without bf16 train in fp32"),
    bad=Example(
        "args.json",
        '{"model_name_or_path": "google/flan-t5-large", "output_dir": "out", "per_device_train_batch_size": '
        '8, "predict_with_generate": true, "fp16": true}',
    ),
    good=Example(
        "args.json",
        '{"model_name_or_path": "google/flan-t5-large", "output_dir": "out", "per_device_train_batch_size": '
        '8, "predict_with_generate": true, "bf16": true}',
    ),
    aliases=("PREC009", "TT202"),
    tips=("S2-15",),
    symptoms=(
        "loss is NaN",
        "loss zero",
        "loss scale goes to zero",
        "diverged",
        "gradients underflow in fp16",
        "grad scaler skips every step",
        "T5 or Gemma gives NaN in fp16",
        "works in bf16 and gives NaN in fp16",
    ),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where the family is known and fp16 is on in either way."""
    name = OVERFLOWING.get(run.value("model_family") or "")
    if name is None:
        return
    for concept in ("autocast", "weights_dtype"):
        setting = run.setting(concept)
        if setting is not None and setting.value == "fp16":
            yield RULE.at(setting, family=name)
            return
