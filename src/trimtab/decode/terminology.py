"""A glossary in ids of a vocabulary: which terms the translation of a text must have, and whether it has them."""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool
from torch import Tensor

from trimtab.decode.glossary import MOST_PROBLEMS, Entry, Glossary, holds, with_capital
from trimtab.decode.lexical_constraints import Spelling, Term, tokens_needed
from trimtab.errors import InputError, Problem
from trimtab.types import Tokenizer

MOST_WARNINGS = 3
"""Lines without their terms of which the log warns."""
SHOWN_OF_A_TERM = 60
"""Characters of a term in a warning."""
_BRACKET = "("
"""What a word may follow without a space, in every language."""


@dataclass(frozen=True, slots=True)
class SpelledEntry:
    """An entry with its spellings in ids."""

    entry: Entry
    term: Term
    texts: tuple[str, ...]
    """What the vocabulary makes of the spellings as text."""


@dataclass(frozen=True, slots=True)
class Terminology:
    """A glossary for one vocabulary."""

    glossary: Glossary
    spelled: dict[str, SpelledEntry]
    """By the source of the entry."""
    opens_word: Bool[Tensor, "vocabulary"]
    """For each id, whether a word may begin right behind it."""

    def of_text(self, text: str, *, max_tokens: int) -> list[SpelledEntry]:
        """The entries whose terms are in the text, as many from the left as fit into a translation."""
        taken: list[SpelledEntry] = []
        for entry in self.glossary.found_in(text):
            more = [*taken, self.spelled[entry.source]]
            if tokens_needed([each.term for each in more]) < max_tokens:
                taken = more
        return taken

    def missing(self, text: str, translation: str) -> list[Entry]:
        """The entries whose terms are in the text and have none of their targets in the translation."""
        found = self.glossary.found_in(text)
        return [
            entry
            for entry in found
            if not any(holds(translation, each) for each in self.spelled[entry.source].texts)
        ]


Spell = Callable[[Sequence[str]], list[list[int]]]
"""Ids of target texts, without end symbols."""


def spell_glossary(glossary: Glossary, tokenizer: Tokenizer, spell: Spell) -> Terminology:
    """The glossary in ids. InputError names the terms that the vocabulary cannot spell."""
    targets = {target for entry in glossary.entries.values() for target in entry.targets}
    texts = list(dict.fromkeys(text for target in sorted(targets) for text in with_capital(target)))
    (bracket,) = spell([_BRACKET])
    rows = dict(zip(texts, spell(texts), strict=True))
    joined = dict(zip(texts, spell([_BRACKET + text for text in texts]), strict=True))
    wrong = sorted(target for target in targets if not rows[target] or tokenizer.unknown in rows[target])
    if wrong:
        raise _cannot_spell(wrong, glossary)
    spelled: dict[str, SpelledEntry] = {}
    for entry in glossary.entries.values():
        ways = [text for target in entry.targets for text in with_capital(target)]
        ways = [text for text in ways if rows[text] and tokenizer.unknown not in rows[text]]
        spellings = [Spelling(tuple(rows[text])) for text in ways]
        for text in ways:
            ids = joined[text]
            if ids[: len(bracket)] == bracket and len(ids) > len(bracket):
                spellings.append(Spelling(tuple(ids[len(bracket) :]), proposed=False))
        decoded = tokenizer.decode([each.ids for each in spellings])
        spelled[entry.source] = SpelledEntry(
            entry, tuple(dict.fromkeys(spellings)), tuple(dict.fromkeys(text.strip() for text in decoded))
        )
    return Terminology(glossary, spelled, _opens_word(tokenizer))


def warn_of_missing(entries: Sequence[Entry], *, line: int, count: int) -> None:
    """Logs that the translation of a line, counted from 1, lacks terms; `count` is the number of such lines so far."""
    if count > MOST_WARNINGS:
        return
    named = ", ".join(
        f"{_named(each.source)} as {' or '.join(map(_named, each.targets))}" for each in entries[:5]
    )
    more = "; of further lines nothing is said" if count == MOST_WARNINGS else ""
    logging.getLogger("trimtab").warning(
        "line %d: its translation lacks %d term%s of the glossary, for which it has no room: %s%s",
        *(line, len(entries), "s" * (len(entries) != 1), named, more),
    )


def _named(text: str) -> str:
    return repr(text if len(text) <= SHOWN_OF_A_TERM else f"{text[: SHOWN_OF_A_TERM - 1]}…")


def _opens_word(tokenizer: Tokenizer) -> Bool[Tensor, "vocabulary"]:
    texts = tokenizer.decode([[id] for id in range(tokenizer.num_ids)])
    return torch.tensor([not text[-1:].isalnum() for text in texts])


def _cannot_spell(wrong: Iterable[str], glossary: Glossary) -> InputError:
    problems = []
    for target in wrong:
        source = next(each.source for each in glossary.entries.values() if target in each.targets)
        problems.append(
            Problem(
                what=f"glossary: the vocabulary cannot spell {target!r}",
                got=f"{source!r} as {target!r}",
                allowed="characters of the training text",
                fix="leave the term out, or write it in other characters",
            )
        )
    if len(problems) > MOST_PROBLEMS:
        more = Problem(what=f"glossary: {len(problems) - MOST_PROBLEMS:,} further terms like these")
        problems = [*problems[:MOST_PROBLEMS], more]
    return InputError(*problems)
