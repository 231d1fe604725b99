"""E104 validation-after-the-end"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_YAML = (
    "data:\n  corpus_1: {{path_src: train.en, path_tgt: train.de}}\n"
    "  valid: {{path_src: dev.en, path_tgt: dev.de}}\nsave_model: out/model\nencoder_type: transformer\n"
    "decoder_type: transformer\nhidden_size: 512\nword_vec_size: 512\nposition_encoding: true\n"
    "batch_type: tokens\nbatch_size: 4096\nnormalization: tokens\ntrain_steps: 5000\n{valid}"
)

RULE = Rule(
    code="E104",
    name="validation-after-the-end",
    severity="warning",
    message="validation every {every} steps{default}, but the run ends after {steps}: {outcome}",
    why="Over-fitting, a wrong language or a collapse are only seen in validation. Early stopping and the "
    "choice of the best checkpoint have nothing to go by.",
    evidence=(
        Maintainer(
            "https://github.com/OpenNMT/OpenNMT-py/blob/97111d9/onmt/trainer.py",
            "Validates where `step % valid_steps == 0`; `valid_steps` is 10,000 by default.",
        ),
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/trainer_callback.py",
            "Evaluates every `eval_steps`, and once at the end.",
        ),
    ),
    fix=Fix("validate 10 to 50 times in a run: every {good} steps"),
    bad=Example("opennmt.yaml", _YAML.format(valid="")),
    good=Example("opennmt.yaml", _YAML.format(valid="valid_steps: 250\n")),
    symptoms=("no validation scores in the log",),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where there are validation data, or an evaluation is asked for by steps."""
    every, steps, strategy = run.setting("eval_steps"), run.setting("steps"), run.value("eval_strategy")
    if every is None or steps is None or strategy != "steps" or run.value("validation") is False:
        return
    if not 1 < steps.value < every.value or not (every.is_written or run.value("validation")):
        return
    is_toolkit = run.tool in ("opennmt", "eole", "mammoth", "marian", "fairseq")
    yield RULE.at(
        every if every.is_written else steps,
        every=f"{every.value:,.0f}",
        default="" if every.is_written else " (the default)",
        steps=f"{steps.value:,}",
        outcome="it never comes" if is_toolkit else "it comes at the end, if at all",
        good=f"{max(1, steps.value // 20):,}",
    )
