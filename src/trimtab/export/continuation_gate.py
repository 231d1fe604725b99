"""The gate for language models: on real texts an export must give the trainer's logits and write the same texts."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch

from trimtab.data.exact_text import ExactText
from trimtab.data.fast_tokenizer import FastTokenizer
from trimtab.export.gate import BOUND, largest, with_examples
from trimtab.export.samples import GateText
from trimtab.export.target import ContinuesPrompts
from trimtab.export.trainer import greedy_texts, row_logits
from trimtab.model.kinds import ContinuesTexts

CONTINUED, WRITTEN = 32, 32
"""Texts that are continued from their first half, to their length, and the most tokens of each."""
ROWS_AT_ONCE = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ContinuationReport:
    """What the gate saw; differences are absolute."""

    texts: int
    tokens: int
    """Tokens after which all logits were compared, start symbols included."""
    worst_logit: float
    """Largest difference of a logit."""
    read_otherwise: tuple[str, ...]
    """Texts that the exported tokenizer splits into other ids, of less score to the trainer's vocabulary."""
    split_ties: int
    """Texts that it splits into others of the same score."""
    written_otherwise: tuple[str, ...]
    """Texts that do not come back from their ids."""
    continued: int
    """Texts that were continued greedily, the likeliest token each time."""
    ties: int
    """Those that differ where two tokens have the same logit within the bound."""
    continued_otherwise: tuple[str, ...]
    """Those that differ and are no ties."""
    loss: None = None
    """Weights are float32; nothing may be lost."""

    @property
    def passed(self) -> bool:
        """Whether the export may be used in the trainer's place."""
        # NaN is no number below the bound.
        exact = self.worst_logit <= BOUND
        return exact and not (self.read_otherwise or self.written_otherwise or self.continued_otherwise)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {**asdict(self), "bound": BOUND, "passed": self.passed}

    def render(self) -> str:
        """Lines for people."""
        same = self.continued - self.ties - len(self.continued_otherwise)
        lines = [
            f"{self.texts} texts, {self.tokens} tokens",
            f"logits differ by at most {self.worst_logit:.1e} (bound {BOUND:.0e})",
            f"ids of the texts: {len(self.read_otherwise)} texts differ, {self.split_ties} ties",
            f"continued greedily: {same} the same, {self.ties} ties, {len(self.continued_otherwise)} others",
            f"text of the same ids: {len(self.written_otherwise)} differ",
        ]
        return with_examples(lines, self.read_otherwise, self.continued_otherwise, self.written_otherwise)


@torch.inference_mode()
def compare_continuations(
    model: ContinuesTexts, tokenizer: ExactText, opened: ContinuesPrompts, texts: Sequence[GateText]
) -> ContinuationReport:
    """The report on an export, against the trainer's model in float32 on the CPU."""
    rows = [[tokenizer.start, *text.ids] for text in texts]
    read, split_ties = _read(tokenizer, opened, texts)
    otherwise, ties = _continued(model, tokenizer, opened, rows[:CONTINUED])
    pairs = zip(texts, opened.decode([text.ids for text in texts]), strict=True)
    return ContinuationReport(
        texts=len(rows),
        tokens=sum(map(len, rows)),
        worst_logit=_worst(model, opened, rows),
        read_otherwise=read,
        split_ties=split_ties,
        written_otherwise=tuple(
            f"{text.text!r} became {back!r}" for text, back in pairs if text.text != back
        ),
        continued=len(rows[:CONTINUED]),
        ties=ties,
        continued_otherwise=otherwise,
    )


def _worst(model: ContinuesTexts, opened: ContinuesPrompts, rows: list[list[int]]) -> float:
    worst: list[float] = []
    for start in range(0, len(rows), ROWS_AT_ONCE):
        few = rows[start : start + ROWS_AT_ONCE]
        for ours, theirs in zip(row_logits(model, few), opened.logits(few), strict=True):
            worst.append(float((ours - theirs).abs().max()))
    return largest(worst)


def _read(
    tokenizer: ExactText, opened: ContinuesPrompts, texts: Sequence[GateText]
) -> tuple[tuple[str, ...], int]:
    """Texts that are split otherwise, and how many more into parts that are as likely together."""
    otherwise: list[str] = []
    ties = 0
    for text, ids in zip(texts, opened.encode([text.text for text in texts]), strict=True):
        if ids == [tokenizer.start, *text.ids]:
            continue
        if isinstance(tokenizer.inner, FastTokenizer):
            # The file is the very same one, whose own settings say what it puts before a text.
            otherwise += [] if ids[-len(text.ids) :] == list(text.ids) else [repr(text.text)]
            continue
        same = ids[:1] == [tokenizer.start] and tokenizer.decode([ids[1:]])[0] == text.text
        if same and abs(_score(tokenizer, ids[1:]) - _score(tokenizer, text.ids)) <= BOUND * len(ids):
            ties += 1
        else:
            otherwise.append(repr(text.text))
    return tuple(otherwise), ties


def _score(tokenizer: ExactText, ids: Sequence[int]) -> float:
    return sum(tokenizer.inner.processor.get_score(id) for id in ids)


def _continued(
    model: ContinuesTexts, tokenizer: ExactText, opened: ContinuesPrompts, rows: list[list[int]]
) -> tuple[tuple[str, ...], int]:
    """What both write after the first half of each row, where it differs; and how many differ by a tie."""
    prompts = [row[: (len(row) + 1) // 2] for row in rows]
    limits = [
        min(WRITTEN, max(2, len(row) - len(prompt) + 1)) for row, prompt in zip(rows, prompts, strict=True)
    ]
    ours = greedy_texts(model, tokenizer, prompts, limits=limits)
    otherwise: list[str] = []
    ties = 0
    for prompt, limit, one in zip(prompts, limits, ours, strict=True):
        other = opened.continued(prompt, limit=limit)
        if one == other:
            continue
        if _is_tie(model, prompt, one, other):
            ties += 1
        else:
            before, first, second = tokenizer.decode([prompt, one, other])
            otherwise.append(f"{before!r}: {first!r} became {second!r}")
    return tuple(otherwise), ties


def _is_tie(model: ContinuesTexts, prompt: list[int], one: list[int], other: list[int]) -> bool:
    """Whether the first tokens that differ have the same logit within the bound."""
    pairs = enumerate(zip(one, other, strict=False))
    place = next((place for place, (left, right) in pairs if left != right), None)
    if place is None:
        return False
    logits = row_logits(model, [[*prompt, *one[:place]]])[0][-1]
    return bool((logits[one[place]] - logits[other[place]]).abs() <= BOUND)
