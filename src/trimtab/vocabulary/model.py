"""What is operated on: a model with its vocabularies, as a run or as a folder in the form of Hugging Face."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from torch import Tensor

from trimtab.vocabulary.change import Init, VocabularyChange
from trimtab.vocabulary.vocabulary import Vocabulary

Side = str
"""`source` or `target` where each has a vocabulary of its own, `shared` otherwise."""
Rows = Mapping[Side, Sequence[Sequence[int]]]
"""Rows of ids for each vocabulary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How large a model is."""

    parameters: int
    """Numbers in its weights, tied ones once."""
    weight_bytes: int
    """Bytes of the files that hold them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What must not change, or must change as the vocabulary does."""

    ids: Mapping[str, int]
    """Ids in settings and tokenizer files, by where they stand, such as `config.json: pad_token_id`."""
    rows: Mapping[str, int]
    """Rows of each tensor that has one for each id, and sizes in settings."""
    ties: frozenset[frozenset[str]]
    """Names of weights that are one matrix."""


@runtime_checkable
class EditableModel(Protocol):
    """A model whose vocabulary can change."""

    @property
    def label(self) -> str:
        """What the user named."""
        ...

    @property
    def vocabularies(self) -> Mapping[Side, Vocabulary]:
        """Its tokenizers."""
        ...

    def special(self, side: Side) -> frozenset[int]:
        """Ids that settings of the model name."""
        ...

    def known_rows(self, side: Side) -> int:
        """Rows that stand for pieces."""
        ...

    def size(self) -> Size:
        """How large it is."""
        ...

    def facts(self) -> Facts:
        """See `Facts`, from the files."""
        ...

    def logits(self, rows: Rows) -> list[Tensor]:
        """In float32, for each row the logits after each of its tokens, over all ids of the target; of a model without
        an output, its last hidden vectors. A translator reads the source's row and is fed the target's."""
        ...

    @property
    def writes(self) -> Side | None:
        """The vocabulary of its logits; None for a model without an output."""
        ...

    def write(
        self,
        folder: Path,
        vocabularies: Mapping[Side, Vocabulary],
        changes: Mapping[Side, VocabularyChange],
        *,
        init: Init,
    ) -> tuple[str, ...]:
        """Writes the changed model into an empty folder; notes for the user."""
        ...

    def reopened(self, folder: Path) -> "EditableModel":
        """The model of a folder that `write` made."""
        ...

    def read_otherwise(
        self, other: "EditableModel", lines: Sequence[str], change: VocabularyChange
    ) -> tuple[str, ...]:
        """Lines that another library splits otherwise with the changed model, though no piece is dropped or new."""
        ...


def named_ids(found: Any) -> dict[str, int]:
    """Ids by where they stand; several under one key are numbered."""
    named: dict[str, int] = {}
    for key, id in found:
        place, number = key, 2
        while place in named:
            place, number = f"{key}, {number}", number + 1
        named[place] = id
    return named
