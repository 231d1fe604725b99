"""A run as a model whose vocabulary can change; the result is a run folder with one checkpoint, as an average is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import Any

import torch
from torch import Tensor

from trimtab.checkpoint.load import Checkpoint
from trimtab.checkpoint.resolve import resolve_checkpoint
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.checkpoint.store import CheckpointStore
from trimtab.config.load import load_recipe
from trimtab.config.pretrained_model import PretrainedModel
from trimtab.config.render import render_recipe
from trimtab.config.run import Recipe
from trimtab.config.tokenizer import ByteLevel, SentencePieceTokenizer
from trimtab.data.fast_tokenizer import FastTokenizer, SpecialIds
from trimtab.data.fitting_vocabulary import resized
from trimtab.data.pack import assemble
from trimtab.data.sentencepiece_model import MODEL_FILE, SentencePiece
from trimtab.data.shape import PackShape
from trimtab.data.stored_tokenizer import FAST_FILE, AnyTokenizer, store_fast
from trimtab.data.tokenizer import write_tokenizer
from trimtab.data.tokenizers import Tokenizers, load_tokenizers
from trimtab.errors import input_error
from trimtab.inference.chosen_weights import chosen_weights, place_of
from trimtab.inference.load import LoadedModel, load_model
from trimtab.types import Ragged
from trimtab.vocabulary.change import Init, VocabularyChange, changed_rows, check_finite
from trimtab.vocabulary.fast_vocabulary import FastVocabulary
from trimtab.vocabulary.model import EditableModel, Facts, Rows, Side, Size
from trimtab.vocabulary.sentencepiece_vocabulary import SentencePieceVocabulary
from trimtab.vocabulary.vocabulary import Vocabulary

SHARED, SOURCE, TARGET = "shared", "source", "target"
TABLES = {"embedding.weight": TARGET, "source_embedding.weight": SOURCE, "output.weight": TARGET}
"""Tensors with a row for each id, and whose ids."""
ROWS_MULTIPLE = 64
"""Rows of a native model: ids, and some that stand for nothing up to this multiple."""
KEYS = {SHARED: "tokenizer", TARGET: "tokenizer", SOURCE: "source_tokenizer"}
SYMBOLS = ("pad", "unknown", "start", "end")


@dataclass(frozen=True)
class RunModel:
    """See `EditableModel`."""

    spec: str
    checkpoint: Checkpoint
    recipe: Recipe
    tokenizers: Tokenizers

    @classmethod
    def open(cls, spec: str) -> "RunModel":
        """The checkpoint of `RUN`, `RUN@last` or `RUN@500`; InputError if there is none, or it is an adapter."""
        checkpoint = resolve_checkpoint(spec)
        run = RunFolder(checkpoint.run)
        recipe = load_recipe(run.recipe).recipe
        if not recipe.facts.writes_text or recipe.adapter is not None:
            adapter = recipe.adapter is not None
            raise input_error(
                f"{spec}: its vocabulary cannot be changed",
                got="a run that trained an adapter" if adapter else f"a run with `task: {recipe.task}`",
                allowed="a run that translates or generates, or a folder in the form of Hugging Face",
                fix=f"merge it first: `trimtab export {quote(spec)} --to hf --out DIR`, then name DIR"
                if adapter
                else "name another model",
            )
        if recipe.model.library:
            is_exported = recipe.model.library == "transformers"
            raise input_error(
                f"{spec}: its vocabulary cannot be changed",
                got=f"a run with `model.kind: {recipe.model.kind}`, whose tables trimtab does not build",
                allowed="a run of a model that trimtab builds, or a folder in the form of Hugging Face",
                fix=f"`trimtab export {quote(spec)} --to hf --out DIR`, then name DIR"
                if is_exported
                else "name another model",
            )
        if recipe.data.source_factors:
            # Sources are read in lower case or with values after them, which a text to keep does not show.
            raise input_error(
                f"{spec}: its vocabulary cannot be changed",
                got="a run with `data.source_factors`",
                allowed="a run without source factors",
                fix="train a run with the vocabulary that you want; `model.warm_start` begins it from these weights",
            )
        return cls(spec, checkpoint, recipe, load_tokenizers(run.tokenizer))

    @property
    def label(self) -> str:
        """`RUN@STEP`."""
        return place_of(self.checkpoint, self.recipe)

    @property
    def vocabularies(self) -> Mapping[Side, Vocabulary]:
        """See `EditableModel`."""
        return self._vocabularies

    def special(self, side: Side) -> frozenset[int]:
        """Padding, unknown, start and end."""
        tokenizer = self._tokenizer(side)
        return frozenset(getattr(tokenizer, name) for name in SYMBOLS)

    def known_rows(self, side: Side) -> int:
        """See `EditableModel`."""
        return self.vocabularies[side].num_ids

    def size(self) -> Size:
        """See `EditableModel`."""
        file = self.checkpoint.folder / "model.safetensors"
        weights = self._weights.values()
        return Size(parameters=sum(each.numel() for each in weights), weight_bytes=file.stat().st_size)

    def facts(self) -> Facts:
        """See `EditableModel`."""
        ids = {
            f"{side}: {name}": getattr(self._tokenizer(side), name)
            for side in self.vocabularies
            for name in SYMBOLS
        }
        rows = {name: self._rows_of(name) for name in TABLES if name in self._weights}
        for side in self.vocabularies:
            rows[f"tokenizer, {side}"] = self._tokenizer(side).num_ids
        tied = (["embedding.weight", *(name for name in TABLES if name not in self._weights)],)
        return Facts(ids=ids, rows=rows, ties=frozenset(frozenset(each) for each in tied if len(each) > 1))

    @property
    def writes(self) -> Side | None:
        """See `EditableModel`."""
        return TARGET if TARGET in self.vocabularies else SHARED

    @torch.inference_mode()
    def logits(self, rows: Rows) -> list[Tensor]:
        """See `EditableModel`."""
        loaded = self._loaded
        targets = rows[self.writes or SHARED]
        none: list[list[int]] = [[] for _ in targets]
        sources = rows.get(SOURCE, targets) if loaded.model.config.has_encoder else none
        longest = loaded.model.max_positions
        found: list[Tensor] = []
        shape = PackShape(1, longest, longest, 1, longest, longest, fixed=False, sort=False)
        source_pad, target = self.tokenizers.source.pad, self.tokenizers.target
        for source, row in zip(sources, targets, strict=True):
            pack = assemble(
                Ragged.of([[*source[: longest - 1]]]),
                Ragged.of([[*row[: longest - 1]]]),
                shape,
                start_symbol=target.start,
                pad_symbol=target.pad,
                source_pad_symbol=source_pad,
            )
            found.append(loaded.model(pack) @ loaded.model.output_matrix[: loaded.model.num_ids].T)
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
        weights = dict(self._weights)
        for name, tensor in weights.items():
            check_finite(tensor, name, model=self.label)
        for name, side in TABLES.items():
            if name in weights:
                side_ = SHARED if SHARED in changes else side
                if side_ in changes:
                    known = self.known_rows(side_)
                    weights[name] = _padded(
                        changed_rows(weights[name], changes[side_], init=init, known=known)
                    )
        with RunFolder.create(folder) as run:
            marks = {**self.checkpoint.fingerprints}
            made = {side: self._changed_tokenizer(side, vocabularies, changes) for side in self.vocabularies}
            run.write_recipe(render_recipe(self._changed_recipe(made)))
            for side, tokenizer in made.items():
                place = run.tokenizer if side == SHARED else run.tokenizer / side
                _store(tokenizer, place, origin=f"{self.label}, changed by trimtab vocabulary")
            if "tokenizer" in marks:
                marks |= load_tokenizers(run.tokenizer).fingerprints
            CheckpointStore(run.checkpoints, keep=1).save(
                replace(self.checkpoint.load_state(), best={}, guard={}),
                model=weights,
                optimizer={},
                # There are no moments to resume from: the message of a resumed run names this.
                fingerprints={**marks, "vocabulary": f"changed from {self.label}"},
            )
        return ()

    def reopened(self, folder: Path) -> EditableModel:
        """See `EditableModel`."""
        return RunModel.open(str(folder))

    def read_otherwise(
        self, other: EditableModel, lines: Sequence[str], change: VocabularyChange
    ) -> tuple[str, ...]:
        """Nothing: no other library reads a run."""
        return ()

    @cached_property
    def _vocabularies(self) -> Mapping[Side, Vocabulary]:
        sides = {SHARED: self.tokenizers.target}
        if not self.tokenizers.shared:
            sides = {SOURCE: self.tokenizers.source, TARGET: self.tokenizers.target}
        return {side: _vocabulary(tokenizer) for side, tokenizer in sides.items()}

    @cached_property
    def _weights(self) -> dict[str, Tensor]:
        return chosen_weights(self.checkpoint, self.recipe)

    @cached_property
    def _loaded(self) -> LoadedModel:
        return load_model(self.spec, device="cpu")

    def _rows_of(self, name: str) -> int:
        """Rows of a tensor, without those that fill it up to a multiple."""
        rows = self._weights[name].shape[0]
        num_ids = self._tokenizer(TABLES[name]).num_ids
        return num_ids if 0 <= rows - num_ids < ROWS_MULTIPLE else rows

    def _tokenizer(self, side: Side) -> AnyTokenizer:
        return self.tokenizers.source if side == SOURCE else self.tokenizers.target

    def _changed_tokenizer(
        self, side: Side, vocabularies: Mapping[Side, Vocabulary], changes: Mapping[Side, VocabularyChange]
    ) -> AnyTokenizer:
        old = self._tokenizer(side)
        if side not in changes:
            return old
        vocabulary, change = vocabularies[side], changes[side]
        if isinstance(vocabulary, SentencePieceVocabulary):
            assert isinstance(old, SentencePiece)
            return SentencePiece(vocabulary.model, symbols=old.symbols)
        assert isinstance(vocabulary, FastVocabulary)
        assert isinstance(old, FastTokenizer)
        special = SpecialIds(**{name: change.new_ids[getattr(old, name)] for name in SYMBOLS})
        return FastTokenizer(
            vocabulary.content, special=special, num_ids=len(change.origins), template=old.template
        )

    def _changed_recipe(self, made: Mapping[Side, AnyTokenizer]) -> Recipe:
        recipe = self.recipe
        told: dict[str, Any] = {}
        for side, tokenizer in made.items():
            config = getattr(recipe.data, KEYS[side])
            change = resized(config, tokenizer.num_ids)
            if isinstance(config, SentencePieceTokenizer | ByteLevel):
                change["path"] = None
            told[KEYS[side]] = config.model_copy(update=change)
        model = recipe.model
        if isinstance(model, PretrainedModel):
            model = model.model_copy(update={"num_ids": made[SHARED].num_ids})
        evaluate = recipe.evaluate.model_copy(update={"weights": "raw"})
        data = recipe.data.model_copy(update=told)
        return recipe.model_copy(update={"data": data, "model": model, "evaluate": evaluate})


def _vocabulary(tokenizer: AnyTokenizer) -> Vocabulary:
    if isinstance(tokenizer, FastTokenizer):
        special = frozenset(getattr(tokenizer.special, name) for name in SYMBOLS)
        return FastVocabulary(tokenizer.content, FAST_FILE, special)
    return SentencePieceVocabulary(tokenizer.model, MODEL_FILE)


def _store(tokenizer: AnyTokenizer, folder: Path, *, origin: str) -> None:
    if isinstance(tokenizer, FastTokenizer):
        store_fast(tokenizer, folder, adopted_from=origin)
    else:
        write_tokenizer(tokenizer, folder, adopted_from=origin)


def _padded(rows: Tensor) -> Tensor:
    """With rows of zeros, which stand for nothing, up to the multiple that a native model has."""
    more = -rows.shape[0] % ROWS_MULTIPLE
    return torch.cat([rows, rows.new_zeros(more, *rows.shape[1:])]).contiguous()
