"""The gate for translators: on real lines an export must score and translate as the trainer does."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

from trimtab.decode.limits import target_limit
from trimtab.export.gate import BOUND, largest, with_examples
from trimtab.export.quantized import Quantized
from trimtab.export.samples import GateLine
from trimtab.export.target import Trained, TranslatesLines
from trimtab.export.text_loss import TextLoss, text_loss
from trimtab.export.trainer import token_log_probabilities, translations
from trimtab.types import Ragged

BEAM = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslationReport:
    """What the gate saw; differences are absolute."""

    lines: int
    tokens: int
    """Target tokens that were scored, end symbols included."""
    worst_token: float
    """Largest difference of a token's natural log-probability."""
    worst_sentence: float
    """Largest difference of a sentence's sum."""
    read_otherwise: tuple[str, ...]
    """Lines that the exported tokenizer splits into other ids."""
    written_otherwise: tuple[str, ...]
    """Translations whose ids are the same and whose text is not."""
    ties: int
    """Translations that differ and have the same score within the bound."""
    translated_otherwise: tuple[str, ...]
    """Translations that differ and are no ties."""
    loss: TextLoss | None = None
    """Of an export with rounded weights, which need not be exact; None for one in float32."""

    @property
    def passed(self) -> bool:
        """Whether the export may be used in the trainer's place."""
        # NaN is no number below the bound.
        finite = self.worst_token < float("inf")
        if self.read_otherwise or self.written_otherwise or not finite:
            return False
        if self.loss is not None:
            return self.loss.is_within
        return self.worst_token <= BOUND and not self.translated_otherwise

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {**asdict(self), "bound": BOUND, "beam": BEAM, "passed": self.passed}

    def render(self) -> str:
        """Lines for people."""
        same = self.lines - self.ties - len(self.translated_otherwise)
        bound = f" (bound {BOUND:.0e})" if self.loss is None else ""
        lines = [
            f"{self.lines} lines, {self.tokens} target tokens",
            f"log-probability: a token differs by at most {self.worst_token:.1e}{bound}, "
            f"a sentence by {self.worst_sentence:.1e}",
            f"ids of the source: {len(self.read_otherwise)} lines differ",
            f"beam {BEAM}: {same} translations the same, {self.ties} ties, {len(self.translated_otherwise)} others",
            f"text of the same ids: {len(self.written_otherwise)} differ",
            *(self.loss.render() if self.loss is not None else ()),
        ]
        return with_examples(lines, self.read_otherwise, self.translated_otherwise, self.written_otherwise)


def compare_translations(
    trained: Trained, opened: TranslatesLines, lines: Sequence[GateLine], quantized: Quantized | None = None
) -> TranslationReport:
    """The report on an export, against the trainer's model in float32 on the CPU."""
    source = Ragged.of([line.source_ids for line in lines])
    target = Ragged.of([line.target_ids for line in lines])
    worst_token, worst_sentence = _differences(
        token_log_probabilities(trained, source, target), opened.log_probabilities(source, target)
    )
    limits = [target_limit(len(line.source_ids), max_tokens=trained.recipe.data.max_tokens) for line in lines]
    ours = translations(trained, [line.source_ids for line in lines], beam=BEAM)
    theirs = opened.search(source, beam=BEAM, limits=limits)
    differing = [number for number in range(len(lines)) if ours[number] != theirs[number]]
    ties = _ties(trained, source, ours, theirs, differing)
    texts, others = trained.tokenizer.decode(ours), trained.tokenizer.decode(theirs)
    return TranslationReport(
        lines=len(lines),
        tokens=int(target.offsets[-1]),
        worst_token=worst_token,
        worst_sentence=worst_sentence,
        read_otherwise=_read_otherwise(opened, lines),
        written_otherwise=tuple(
            f"{text!r} became {other!r}"
            for text, other in zip(texts, opened.decode(ours), strict=True)
            if text.strip() != other.strip()  # some libraries keep no space at the ends
        ),
        ties=len(ties),
        translated_otherwise=tuple(
            f"{lines[number].source!r}: {texts[number]!r} became {others[number]!r}"
            for number in differing
            if number not in ties
        ),
        loss=None
        if quantized is None or quantized.is_exact
        else text_loss(
            texts,
            others,
            references=trained.tokenizer.decode([line.target_ids for line in lines]),
            most=quantized.most_loss,
        ),
    )


def _differences(ours: list[list[float]], theirs: list[list[float]]) -> tuple[float, float]:
    """The largest of a token and of a sentence."""
    tokens: list[float] = []
    sentences: list[float] = []
    for left, right in zip(ours, theirs, strict=True):
        tokens += [abs(one - other) for one, other in zip(left, right, strict=True)]
        sentences.append(abs(sum(left) - sum(right)))
    return largest(tokens), largest(sentences)


def _ties(
    trained: Trained, source: Ragged, ours: list[list[int]], theirs: list[list[int]], differing: list[int]
) -> set[int]:
    """Those of the differing rows whose two translations have the same score to the trainer's model."""
    if not differing:
        return set()
    end = trained.tokenizer.end
    rows = [source.row(number).tolist() for number in differing]
    scores = [
        [
            sum(row) / len(row)
            for row in token_log_probabilities(
                trained, Ragged.of(rows), Ragged.of([[*side[number], end] for number in differing])
            )
        ]
        for side in (ours, theirs)
    ]
    pairs = zip(differing, *scores, strict=True)
    return {number for number, one, other in pairs if abs(one - other) <= BOUND}


def _read_otherwise(opened: TranslatesLines, lines: Sequence[GateLine]) -> tuple[str, ...]:
    found: list[str] = []
    for tags, same in groupby(lines, key=lambda line: line.tags):
        few = list(same)
        read = opened.encode([line.source for line in few], tags)
        found += [
            f"{line.source!r}"
            for line, ids in zip(few, read, strict=True)
            if list(ids) != list(line.source_ids)
        ]
    return tuple(found)
