"""Whether checkpoints go to the Hub while the run continues: its history keeps what rotation deletes here."""

from trimtab.checks.description import Description
from trimtab.checks.own_key import own_value

_AT_THE_END = ("end", "HubStrategy.END")


def is_pushed(run: Description) -> bool:
    """`push_to_hub` with the Trainer's default strategy, or another that pushes with each save."""
    return own_value(run, "push_to_hub") is True and own_value(run, "hub_strategy") not in _AT_THE_END
