"""Trainers of transformers and TRL as a script makes them, with the configuration that each is given."""

from collections.abc import Iterator
from typing import Final

from trimtab.checks.description import Description
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import options
from trimtab.checks.read.flow.values import Event, Value

NAMES: Final = frozenset(
    {
        "Trainer", "Seq2SeqTrainer", "SFTTrainer", "DPOTrainer", "KTOTrainer", "RewardTrainer", "GRPOTrainer",
        "RLOOTrainer",
    }
)  # fmt: skip
_CONFIGURATIONS: Final = ("TrainingArguments", "Config")


def trainers(run: Description) -> Iterator[Event]:
    """Every Trainer of transformers or TRL that a script makes with arguments that can be seen."""
    if not run.document.imports & {"transformers", "trl"}:
        return
    for event in flow_of(run.document).named(*NAMES):
        value = event.value
        is_theirs = (
            value.made == "call" and value.of is None and value.name.startswith(("transformers.", "trl."))
        )
        if is_theirs and not value.has_rest and not _must_fail(event):
            yield event


def _must_fail(event: Event) -> bool:
    """Whether a test expects an error: `with pytest.raises(ValueError)`."""
    return any(each.last in ("raises", "assertRaises") for block in event.path for each in block.contexts)


def configuration(trainer: Value) -> Value | None:
    """The call that makes its arguments; None if it cannot be seen, or some of its arguments cannot."""
    given = trainer.argument(1, "args")
    found = [each for each in options(given) if each.made == "call" and each.last.endswith(_CONFIGURATIONS)]
    return found[0] if len(found) == 1 and len(options(given)) == 1 and not found[0].has_rest else None


def is_set(made: Value, name: str) -> bool:
    """Whether an argument is given or set later."""
    return name in made.keywords or (name in made.fields and made.fields[name].made != "attribute")
