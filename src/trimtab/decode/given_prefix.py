"""Checks the prefixes that a user gives, as text or ids, against vocabulary and maximum length."""

from collections.abc import Sequence

from trimtab.decode.setup import TranslationSetup
from trimtab.errors import InputError, input_error

Prefix = str | Sequence[int]
"""Text, or ids of the target vocabulary without start and end symbols."""


def prefix_ids(
    prefixes: Sequence[Prefix | None], setup: TranslationSetup, *, first_line: int = 0
) -> list[list[int]]:
    """The ids of each prefix, none for None and for empty text; text is normalised as training did with targets.

    Raises InputError, with the line's number, for text that the vocabulary cannot spell, ids that it does not have,
    the end symbol inside, and a prefix that leaves no room in `max_tokens`.
    """
    texts = [setup.normalise_text(prefix) if isinstance(prefix, str) else "" for prefix in prefixes]
    spelled = setup.spell_target(texts)
    found: list[list[int]] = []
    for number, (prefix, ids) in enumerate(zip(prefixes, spelled, strict=True), start=first_line + 1):
        if prefix is not None and not isinstance(prefix, str):
            ids = list(prefix)
            _check_ids(ids, setup, number)
        elif setup.tokenizer.unknown in ids:
            raise _refused(
                number,
                f"has text that the vocabulary cannot spell: {prefix!r}",
                allowed="characters of the training text",
                fix="leave these characters out",
            )
        if len(ids) >= setup.max_tokens:
            raise _refused(
                number,
                f"is {len(ids)} tokens long",
                allowed=f"at most {setup.max_tokens - 1}, which leaves one for the end symbol (data.max_tokens)",
                fix="shorten it",
            )
        found.append(ids)
    return found


def _check_ids(ids: list[int], setup: TranslationSetup, number: int) -> None:
    tokenizer = setup.tokenizer
    if any(not 0 <= id < tokenizer.num_ids or id == tokenizer.end for id in ids):
        raise _refused(
            number,
            "has ids that cannot be part of a translation",
            allowed=f"ids below {tokenizer.num_ids}, without the end symbol, {tokenizer.end}",
            fix="use the ids of the run's own tokenizer, without the end symbol",
        )


def _refused(number: int, got: str, *, allowed: str, fix: str) -> InputError:
    return input_error(
        f"prefix of line {number}: cannot be forced", got=f"a prefix that {got}", allowed=allowed, fix=fix
    )
