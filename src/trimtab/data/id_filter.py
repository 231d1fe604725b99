"""Drops pairs that passed the transforms for reasons that only their ids show."""

from collections.abc import Collection

import numpy as np

from trimtab.data.transforms.apply import EMPTY_SOURCE, EMPTY_TARGET
from trimtab.types import Ragged

REFUSED = "chat template"
"""The reason of a conversation that the chat template refuses, or whose answer it does not write."""
NO_TOOLS = "tool calls"
"""The reason of an answer in a conversation with tools or tool calls that the chat template does not write."""
NOT_LEARNED = "weight 0"
"""The reason of a conversation of which each answer has `weight: 0`."""
TOO_LONG = "too_long"


def reasons_in_ids(
    source: Ragged, target: Ragged, *, num_tags: np.ndarray | int, max_tokens: int, one_row: bool = False
) -> list[str]:
    """For each pair the reason to drop it, or nothing.

    `num_tags` ids come before each source; they and the end symbol are no content, so a line of which the tokenizer
    sees nothing (one of zero-width characters) is empty. `max_tokens` counts both; with `one_row` it is for source and
    target together, as where a language model reads them behind one another, a separator in place of the first end.
    """
    reasons = np.full(len(target), "", dtype=object)
    longest = source.lengths + target.lengths if one_row else np.maximum(source.lengths, target.lengths)
    reasons[longest > max_tokens] = TOO_LONG
    reasons[target.lengths <= 1] = EMPTY_TARGET
    reasons[source.lengths <= 1 + np.asarray(num_tags)] = EMPTY_SOURCE
    return reasons.tolist()


def fix_for_dropped(reasons: Collection[str], *, shares_length: bool = False) -> str:
    """What to change where examples are dropped for these reasons; `shares_length` where source and target are one
    row."""
    ways: list[str] = []
    if REFUSED in reasons:
        ways.append("fix the chat template beside the tokenizer, or the order and roles of the messages")
    if NO_TOOLS in reasons:
        ways.append(
            "take a model whose chat template writes `tools` and `tool_calls`, or remove them from the data"
        )
    if NOT_LEARNED in reasons:
        ways.append("leave `weight: 0` out of the answers that are to be learned")
    if EMPTY_TARGET in reasons:
        ways.append("give the examples targets (in conversations, a message of the role `assistant`)")
    if set(reasons) - {REFUSED, NO_TOOLS, NOT_LEARNED, EMPTY_TARGET}:
        shared = ", which source and target share" if shares_length else ""
        ways.append(f"loosen data.transforms or data.max_tokens{shared}")
    return "; ".join([*ways, "`trimtab data inspect` shows what is dropped"])
