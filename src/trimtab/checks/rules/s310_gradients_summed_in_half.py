"""S310 gradients-summed-in-half"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="S310",
    name="gradients-summed-in-half",
    severity="note",
    message="gradients are added up in {dtype}{over}",
    why="A 16-bit sum forgets what is smaller than half its rounding step. With many micro-batches or many "
    "ranks the later ones are rounded against a sum that is many times larger. Usual practice keeps this sum "
    "in fp32.",
    evidence=(
        Arithmetic(
            "A bf16 sum of k equal terms stops growing near k = 256: the term is then half of the distance "
            "to the next number. With k = 16 the last term loses 4 of its 8 bits."
        ),
        Maintainer(
            "https://github.com/deepspeedai/DeepSpeed/blob/edaa722/docs/_pages/config-json.md",
            "data_types.grad_accum_dtype: fp32, fp16 or bf16, the model's own by default; communication_data_type "
            "likewise.",
        ),
    ),
    fix=Fix("set `{key}` to fp32"),
    bad=Example(
        "ds.json",
        '{"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": 1, '
        '"gradient_accumulation_steps": 32, "bf16": {"enabled": true}, "data_types": {"grad_accum_dtype": '
        '"bf16"}}',
    ),
    good=Example(
        "ds.json",
        '{"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": 1, '
        '"gradient_accumulation_steps": 32, "bf16": {"enabled": true}, "data_types": {"grad_accum_dtype": '
        '"fp32"}}',
    ),
    aliases=("PREC010",),
    tips=("S4-06",),
    symptoms=("loss falls slowly", "worse with more accumulation"),
)

MANY = 16
_HALF = ("bf16", "fp16", "bfp16")


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires on DeepSpeed's own keys, for accumulation where there is much of it, for ranks where it is written."""
    summed, terms = run.written("data_types.grad_accum_dtype"), run.value("accumulation")
    if summed is not None and summed.value in _HALF and terms is not None and terms >= MANY:
        yield RULE.at(summed, dtype=summed.value, over=f" over {terms} micro-batches")
    sent = run.written("communication_data_type")
    ranks = run.value("devices")
    if sent is not None and sent.value in _HALF and ranks is not None and ranks >= MANY:
        yield RULE.at(sent, dtype=sent.value, over=f" over {ranks} ranks")
