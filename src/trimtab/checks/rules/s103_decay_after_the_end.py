"""S103 decay-after-the-end"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="S103",
    name="decay-after-the-end",
    severity="warning",
    message="the learning rate begins to decay after step {start:,}, but the run ends after {steps:,}",
    why="With `decay_method: none` the rate is multiplied by `learning_rate_decay` every `decay_steps` steps "
    "from `start_decay_steps` on, 50,000 where it is not set. A shorter run trains at one rate to its end.",
    evidence=(
        Maintainer(
            "https://github.com/OpenNMT/OpenNMT-py/blob/97111d9/onmt/utils/optimizers.py",
            "exponential_decay is rate ** (max(step - start_step + decay_steps, 0) // decay_steps); Eole and "
            "Mammoth have the same function, and 50000 as the default.",
        ),
        Arithmetic("For step <= start - 1 the exponent is 0, so the factor is 1."),
    ),
    fix=Fix("set `{prefix}start_decay_steps` below {steps:,}, or remove `{key}`"),
    bad=Example(
        "onmt.yaml",
        "data:\n  corpus_1:\n    path_src: train.en\n    path_tgt: train.de\nsave_model: run/model\n"
        "src_vocab: run/vocab.en\ntgt_vocab: run/vocab.de\noptim: sgd\nlearning_rate: 1.0\n"
        "learning_rate_decay: 0.5\ndecay_steps: 5000\ntrain_steps: 40000\n",
    ),
    good=Example(
        "onmt.yaml",
        "data:\n  corpus_1:\n    path_src: train.en\n    path_tgt: train.de\nsave_model: run/model\n"
        "src_vocab: run/vocab.en\ntgt_vocab: run/vocab.de\noptim: sgd\nlearning_rate: 1.0\n"
        "learning_rate_decay: 0.5\ndecay_steps: 5000\nstart_decay_steps: 20000\ntrain_steps: 40000\n",
    ),
    aliases=("SCHED002",),
    symptoms=("learning rate does not come down",),
)

_PREFIX = {"opennmt": "", "mammoth": "", "eole": "training."}
_DEFAULT_START = 50_000


def check(run: Description) -> Iterator[Diagnosis]:
    """Only where a decay is requested; silent for the other decay methods."""
    prefix = _PREFIX.get(run.tool)
    if prefix is None:
        return
    method = run.written(f"{prefix}decay_method")
    wanted = [
        run.written(f"{prefix}{key}") for key in ("learning_rate_decay", "decay_steps", "start_decay_steps")
    ]
    where = next((setting for setting in wanted if setting is not None), None)
    steps = run.value("steps")
    if where is None or steps is None or (method is not None and method.value not in ("none", None)):
        return
    if wanted[0] is not None and wanted[0].value == 1:
        return  # a factor of 1 is a decay switched off
    start = _DEFAULT_START if wanted[2] is None else wanted[2].value
    if isinstance(start, int) and start >= steps:
        yield RULE.at(where, start=start, steps=steps, prefix=prefix)
