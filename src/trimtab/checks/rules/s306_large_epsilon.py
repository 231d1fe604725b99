"""S306 large-epsilon"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.half_precision import is_adam
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="S306",
    name="large-epsilon",
    severity="note",
    message="Adam's epsilon is {epsilon}: weights whose gradients are smaller than that move in proportion "
    "to their gradient, as with SGD",
    why="Adam divides by sqrt(v) + epsilon. Where epsilon is the larger part, the step is no longer about "
    "the learning rate but gradient / epsilon of it. That is wanted now and then, but not as a remedy for "
    "bf16: bf16 has the range of fp32, and 1e-8 does not underflow in it. Gradients shrink as models grow, "
    "and large epsilons then slow them down.",
    evidence=(
        Arithmetic(
            "With |g| = epsilon / 10 the step is learning rate / 11 where epsilon were 0 it would be the "
            "learning rate. bf16's least normal number is 1.2e-38, fp16's 6.1e-5: only fp16 needs another "
            "epsilon."
        ),
        Maintainer(
            "https://github.com/pytorch/pytorch/issues/147437",
            "'the default eps=1e-8 does not work effectively under float16 precision': the place where a larger one is "
            "a remedy, for weights and states in fp16.",
        ),
    ),
    fix=Fix(
        "leave epsilon at 1e-8 unless a sweep says otherwise; for fp16 weights keep state and weights in fp32"
    ),
    bad=Example(
        "args.json",
        '{"output_dir": "out", "per_device_train_batch_size": 8, "learning_rate": 1e-4, "adam_epsilon": '
        "1e-4}",
    ),
    good=Example(
        "args.json",
        '{"output_dir": "out", "per_device_train_batch_size": 8, "learning_rate": 1e-4, "adam_epsilon": '
        "1e-8}",
    ),
    aliases=("PREC006",),
    tips=("S0-106",),
    symptoms=("loss falls slowly", "loss flat"),
)

FROM = 1e-5


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires on a written epsilon of Adam; Adafactor's and RMSprop's mean other things."""
    epsilon = run.setting("epsilon")
    if epsilon is None or not epsilon.is_written or not FROM <= epsilon.value < 1:
        return
    if is_adam(run) and run.value("weights_dtype") != "fp16":
        yield RULE.at(epsilon, epsilon=f"{epsilon.value:g}")
