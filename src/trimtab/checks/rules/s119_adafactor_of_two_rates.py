"""S119 adafactor-of-two-rates"""

from collections.abc import Iterator

from trimtab.checks.code_text import may_say
from trimtab.checks.description import Description
from trimtab.checks.document import UNKNOWN, Call, Entry
from trimtab.checks.evidence import Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import is_known_schedule, root
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="S119",
    name="adafactor-of-two-rates",
    severity="error",
    message="Adafactor gets lr={rate} and, {how}, relative_step=True: {error}",
    why="With relative_step Adafactor makes its own learning rate from the step number; a rate from outside "
    "contradicts it, and relative_step is on unless it is switched off.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/optimization.py",
            '"Cannot combine manual `lr` and `relative_step=True` options"; relative_step=True is the default; the '
            "recommendation for T5 is to disable relative updates and scale_parameter.",
        ),
    ),
    fix=Fix(
        "write relative_step=False, scale_parameter=False, warmup_init=False with the rate, and add a warm-up"
    ),
    bad=Example(
        "train.py",
        "from transformers.optimization import Adafactor\n\n"
        "optimizer = Adafactor(model.parameters(), lr=1e-3, scale_parameter=False, clip_threshold=1.0)\n",
    ),
    good=Example(
        "train.py",
        "from transformers.optimization import Adafactor\n\noptimizer = Adafactor(\n    model.parameters(), "
        "lr=1e-3, scale_parameter=False, relative_step=False, clip_threshold=1.0\n)\n",
    ),
    aliases=("ADAF002", "TT403"),
    tips=("S0-31",),
    symptoms=(
        "Cannot combine manual lr and relative_step=True",
        "Adafactor needs relative_step=False with a manual learning rate",
    ),
)

OWN_ARGUMENTS = frozenset({"scale_parameter", "relative_step", "warmup_init", "clip_threshold", "decay_rate"})
"""Arguments that torch's Adafactor has not."""


def check(run: Description) -> Iterator[Diagnosis]:
    """Calls of transformers' class: one that has an argument of its own, or comes with its module."""
    if not may_say(run.document, "Adafactor", "relative_step"):
        return
    for call in run.document.calls:
        rate, relative = call.arguments.get("lr"), call.arguments.get("relative_step")
        if rate is not None and rate.value is None and relative is not None and relative.value is True:
            yield from _scheduled(run, rate)
        if not _is_ours(run, call) or rate is None or rate.value is None or call.has_rest:
            continue
        if relative is None or relative.value is True:
            text = "lr" if rate.value is UNKNOWN else rate.raw
            how = "by default" if relative is None else "as written"
            yield RULE.at(rate.place, rate=text, how=how, error="it raises ValueError")


def is_of_transformers(call: Call) -> bool:
    """Whether a call makes transformers' Adafactor and not torch's."""
    return call.name == "Adafactor" and bool(
        OWN_ARGUMENTS & set(call.arguments) or "transformers" in call.qualifier
    )


def _is_ours(run: Description, call: Call) -> bool:
    """Also the plain name where it is imported from transformers alone."""
    return is_of_transformers(call) or (
        call.name == "Adafactor" and run.document.sources.get("Adafactor") == frozenset({"transformers"})
    )


def _scheduled(run: Description, rate: Entry) -> Iterator[Diagnosis]:
    """An optimizer that makes its own rate, under a schedule that multiplies the rate it was not given."""
    for event in flow_of(run.document).events:
        schedule = event.value
        if event.kind != "call" or not is_known_schedule(schedule) or schedule.last == "AdafactorSchedule":
            continue
        optimizer = root(schedule.argument(0, "optimizer"))
        lr = optimizer.keywords.get("lr") if optimizer is not None and optimizer.last == "Adafactor" else None
        if lr is not None and lr.constant is None:
            given, error = "None under an outer schedule", "the schedule raises TypeError"
            yield RULE.at(rate.place, rate=given, how="as written", error=error)
            return
