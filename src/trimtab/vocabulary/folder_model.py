"""A folder in the form of Hugging Face as a model whose vocabulary can change; the result is such a folder again.

Its files are read and written here: weights in safetensors, settings, tokenizer. transformers computes the logits of
the gate, and nothing else.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from trimtab.checkpoint.tensor_file import file_content, read_description
from trimtab.config.pretrained.place import CONFIG
from trimtab.errors import input_error
from trimtab.export.hf.library import open_tokenizer, quiet, require_transformers
from trimtab.model.pretrained import SafetensorsWeights, open_weights
from trimtab.vocabulary.change import Init, VocabularyChange, changed_rows, check_finite
from trimtab.vocabulary.fast_vocabulary import FastVocabulary
from trimtab.vocabulary.folder_files import (
    ADDED,
    FAST,
    OLD_FORMS,
    SENTENCEPIECE,
    SETTINGS,
    TOKENIZER_CONFIG,
    copy_others,
    ids_in_files,
    read_json,
    read_vocabulary,
    write_old_forms,
    write_settings,
)
from trimtab.vocabulary.ids import ids_of
from trimtab.vocabulary.model import EditableModel, Facts, Rows, Side, Size
from trimtab.vocabulary.table_vocabulary import TableVocabulary
from trimtab.vocabulary.vocabulary import Vocabulary

SHARED = "shared"
MODEL_TYPES = (
    *("marian", "pegasus", "m2m_100", "mbart", "bart", "t5", "mt5", "umt5"),
    *("llama", "mistral", "qwen2", "qwen3", "gpt2"),
    *("bert", "roberta", "xlm-roberta"),
)
LAST_NAMES = (
    *("shared.weight", "embed_tokens.weight", "wte.weight", "word_embeddings.weight", "lm_head.weight"),
    *("final_logits_bias", "lm_head.bias", "lm_head.decoder.weight", "lm_head.decoder.bias"),
    *("cls.predictions.decoder.weight", "cls.predictions.decoder.bias", "cls.predictions.bias"),
)
"""How names of tensors end that have a row, or a number, for each id."""
INDEX = "model.safetensors.index.json"
POSITIONS = 96
"""Tokens of a row of the gate at most."""


@dataclass(frozen=True)
class FolderModel:
    """See `EditableModel`."""

    folder: Path

    @classmethod
    def open(cls, folder: Path) -> "FolderModel":
        """The model of a folder; InputError where its architecture is not known here, or it has several
        vocabularies."""
        settings = read_json(folder / CONFIG)
        kind, rows = settings.get("model_type"), settings.get("vocab_size")
        if kind not in MODEL_TYPES or not isinstance(rows, int):
            raise input_error(
                f"{folder / CONFIG}: the vocabulary of this architecture cannot be changed",
                got=f"model_type {kind}"
                if isinstance(rows, int)
                else f"model_type {kind} without vocab_size",
                allowed=", ".join(MODEL_TYPES),
                fix="name a model of one of these families",
            )
        if settings.get("decoder_vocab_size", rows) not in (rows, None) or settings.get("sequence_bias"):
            raise input_error(
                f"{folder / CONFIG}: source and target have a vocabulary each, or ids have a bias each",
                got=f"vocab_size {rows}, decoder_vocab_size {settings.get('decoder_vocab_size')}",
                allowed="one vocabulary and no `sequence_bias`",
                fix="if it is the export of a run, change the run's vocabulary and export it again",
            )
        model = cls(folder)
        model.check_tables()
        return model

    @property
    def label(self) -> str:
        """The folder."""
        return str(self.folder)

    @property
    def vocabularies(self) -> Mapping[Side, Vocabulary]:
        """See `EditableModel`."""
        return self._vocabularies

    def special(self, side: Side) -> frozenset[int]:
        """Ids in settings, that are pieces."""
        size = self.vocabularies[side].num_ids
        ids = (id for name in SETTINGS for _, id in ids_of(read_json(self.folder / name)))
        return frozenset(id for id in ids if id < size)

    def known_rows(self, side: Side) -> int:
        """See `EditableModel`."""
        return self.vocabularies[side].num_ids

    def size(self) -> Size:
        """See `EditableModel`."""
        files = self._weights.files
        total = sum(_numel(self._shapes[name]) for name in self._shapes)
        return Size(parameters=total, weight_bytes=sum(file.stat().st_size for file in files))

    def facts(self) -> Facts:
        """See `EditableModel`."""
        rows = {name: shape[_axis(shape, self._rows)] for name, shape in self._tables.items()}
        rows[f"{CONFIG}: vocab_size"] = self._rows
        vocabulary = self.vocabularies[SHARED]
        ids = ids_in_files(self.folder)
        return Facts(ids=ids, rows=rows | {"tokenizer": vocabulary.num_ids}, ties=self._ties)

    @property
    def writes(self) -> Side | None:
        """See `EditableModel`."""
        return SHARED if self._network.get_output_embeddings() is not None else None

    @torch.inference_mode()
    def logits(self, rows: Rows) -> list[Tensor]:
        """See `EditableModel`."""
        network = self._network
        longest = min(POSITIONS, getattr(network.config, "max_position_embeddings", POSITIONS) or POSITIONS)
        found: list[Tensor] = []
        for row in rows[SHARED]:
            ids = torch.tensor([[*row][: longest - 2]])
            more = {"decoder_input_ids": ids} if network.config.is_encoder_decoder else {}
            told = network(input_ids=ids, **more)
            found.append(
                (told.logits if getattr(told, "logits", None) is not None else told.last_hidden_state)[0]
            )
        return found

    def write(
        self,
        folder: Path,
        vocabularies: Mapping[Side, Vocabulary],
        changes: Mapping[Side, VocabularyChange],
        *,
        init: Init,
    ) -> tuple[str, ...]:
        """See `EditableModel`."""
        vocabulary, change = vocabularies[SHARED], changes[SHARED]
        own = {*SETTINGS, TOKENIZER_CONFIG, ADDED, FAST}
        own |= {*SENTENCEPIECE, *OLD_FORMS} if isinstance(vocabulary, FastVocabulary) else set()
        if isinstance(vocabulary, TableVocabulary):
            own |= {vocabulary.file, *(name for name, _ in vocabulary.files)}
        left = copy_others(self.folder, folder, skip=frozenset(own))
        write_settings(self.folder, folder, change, rows=self._rows)
        vocabulary.write(folder)
        dropped = (
            write_old_forms(self.folder, folder, vocabulary) if isinstance(vocabulary, FastVocabulary) else ()
        )
        self._write_weights(folder, change, init=init)
        ours = {file.name for file in self._weights.files} | {INDEX}
        notes = [f"{each} has the old vocabulary and was left out" for each in left if each not in ours]
        notes += [f"{each} was left out, since {FAST} holds the tokenizer" for each in dropped]
        beyond = self._rows - self.known_rows(SHARED)
        if beyond > 0:
            notes.append(f"{beyond:,} rows that stood for no piece were left out")
        return tuple(notes)

    def reopened(self, folder: Path) -> EditableModel:
        """See `EditableModel`."""
        return FolderModel.open(folder)

    def read_otherwise(
        self, other: EditableModel, lines: Sequence[str], change: VocabularyChange
    ) -> tuple[str, ...]:
        """By the tokenizers of transformers, symbols before and after a line among the ids."""
        assert isinstance(other, FolderModel)
        with quiet():
            old, new = open_tokenizer(self.folder), open_tokenizer(other.folder)
            wrong: list[str] = []
            for line in lines:
                wanted, found = change.map(old(line).input_ids), new(line).input_ids
                if wanted is not None and found != wanted and not {*change.added} & {*found}:
                    wrong.append(line)
        return tuple(wrong)

    def check_tables(self) -> None:
        """InputError unless every tensor that has as many rows as the vocabulary has ids is one that is known."""
        others = [
            name for name, shape in self._shapes.items() if self._rows in shape and name not in self._tables
        ]
        bad = [name for name, shape in self._tables.items() if self._rows not in shape]
        if others or bad or not self._tables:
            raise input_error(
                f"{self.folder}: its weights do not fit `vocab_size`",
                got=f"{', '.join([*bad, *others][:3]) or 'no embeddings'}, vocab_size {self._rows:,}",
                allowed="embeddings, an output matrix and its bias with a row for each id, and no other tensor of this "
                "size",
                fix="download weights and config.json again, together",
            )

    @property
    def _rows(self) -> int:
        return read_json(self.folder / CONFIG)["vocab_size"]

    @cached_property
    def _vocabularies(self) -> Mapping[Side, Vocabulary]:
        return {SHARED: read_vocabulary(self.folder, rows=self._rows)}

    @cached_property
    def _weights(self) -> SafetensorsWeights:
        found = open_weights(self.folder)
        assert isinstance(found, SafetensorsWeights), "a folder"
        return found

    @cached_property
    def _shapes(self) -> dict[str, tuple[int, ...]]:
        shapes: dict[str, tuple[int, ...]] = {}
        for file in self._weights.files:
            shapes |= {name: shape for name, (_, shape) in read_description(file).items()}
        return shapes

    @property
    def _tables(self) -> dict[str, tuple[int, ...]]:
        return {
            name: shape
            for name, shape in self._shapes.items()
            if any(name == end or name.endswith(f".{end}") for end in LAST_NAMES)
        }

    @cached_property
    def _network(self) -> Any:
        require_transformers()
        import transformers

        named = (read_json(self.folder / CONFIG).get("architectures") or [""])[0]
        kind: Any = getattr(transformers, str(named), None)
        if not (isinstance(kind, type) and issubclass(kind, transformers.PreTrainedModel)):
            raise input_error(
                f"{self.folder / CONFIG}: transformers has no such class",
                got=str(named) or "no `architectures`",
                allowed="a class of transformers, such as MarianMTModel",
                fix="restore `architectures` as the model's authors wrote it",
            )
        found: Any = kind
        with quiet():
            return found.from_pretrained(
                self.folder,
                local_files_only=True,
                trust_remote_code=False,
                use_safetensors=True,
                dtype=torch.float32,
            ).eval()

    @property
    def _ties(self) -> frozenset[frozenset[str]]:
        groups: dict[int, set[str]] = {}
        for name, weight in self._network.named_parameters(remove_duplicate=False):
            groups.setdefault(weight.data_ptr(), set()).add(name)
        return frozenset(frozenset(names) for names in groups.values() if len(names) > 1)

    def _write_weights(self, folder: Path, change: VocabularyChange, *, init: Init) -> None:
        known, sizes = self.known_rows(SHARED), 0
        for file in self._weights.files:
            tensors = dict(self._changed(file, change, init=init, known=known))
            sizes += sum(each.nbytes for each in tensors.values())
            with (folder / file.name).open("wb") as out:
                for part in file_content(tensors):
                    out.write(part)
        if (self.folder / INDEX).is_file():
            index = json.loads((self.folder / INDEX).read_text(encoding="utf-8"))
            index.setdefault("metadata", {})["total_size"] = sizes
            (folder / INDEX).write_text(json.dumps(index, indent=2) + "\n", encoding="utf-8")

    def _changed(
        self, file: Path, change: VocabularyChange, *, init: Init, known: int
    ) -> Iterator[tuple[str, Tensor]]:
        for name, place in self._weights.places.items():
            if place != file:
                continue
            tensor, _ = self._weights.read(name)
            check_finite(tensor, name, model=self.label)
            if name in self._tables:
                axis = _axis(tuple(tensor.shape), self._rows)
                rows = tensor.movedim(axis, 0)
                # A bias of shape (1, ids) is a number for each id.
                flat = rows.squeeze(-1) if rows.dim() == 2 and rows.shape[1] == 1 else rows
                new = changed_rows(flat, change, init=init, known=known)
                tensor = new.reshape(len(change.origins), *rows.shape[1:]).movedim(0, axis)
            yield name, tensor.contiguous()


def _axis(shape: tuple[int, ...], rows: int) -> int:
    """Where the rows are: of a bias of shape (1, ids) last."""
    return 0 if shape[0] == rows or rows not in shape else shape.index(rows)


def _numel(shape: Sequence[int]) -> int:
    size = 1
    for each in shape:
        size *= each
    return size
