"""How well a language model predicts a text: nats per token, perplexity per token and per byte."""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from trimtab.config.corpora import ValidFiles
from trimtab.config.given_path import RUN, path_text
from trimtab.config.pairs_alone import refuse_pairs_alone
from trimtab.data.cache import default_cache
from trimtab.data.corpus import Corpus, open_corpus
from trimtab.data.exact_text import ExactText
from trimtab.data.spool import STANDARD_INPUT, spooled
from trimtab.data.text_rows import Row, no_source, passage_bytes, rows_of_passages
from trimtab.decode.batches import batches_by_tokens
from trimtab.errors import input_error
from trimtab.evaluation.score_rows import summed_loss
from trimtab.export.open_export import is_export
from trimtab.inference import LoadedModel
from trimtab.inference.exported import ExportedText, load_exported_text
from trimtab.inference.load import load_model
from trimtab.metrics.catalogue import OF_THE_LOSS, text_scores
from trimtab.metrics.perplexity import BYTE_PERPLEXITY, PERPLEXITY
from trimtab.types import Ragged

EXPORT_BATCH_TOKENS = 4096
"""Tokens that the library of an export reads at once, padding included."""
PASSAGES_AT_ONCE = 512
INSTEAD_OF_TEXT = "score its translations: --source FILE --reference FILE"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextReport:
    """How well a text is foreseen."""

    documents: int
    tokens: int
    """End symbols included, one for each document."""
    bytes: int
    """Of the documents in UTF-8."""
    loss: float
    """Nats per token."""
    scores: dict[str, float]
    """What follows from the loss, by metric: `perplexity`, `byte_perplexity` and `bits_per_byte` among them."""
    seconds: float

    @property
    def perplexity(self) -> float:
        """e to the nats per token."""
        return self.scores["perplexity"]

    @property
    def byte_perplexity(self) -> float:
        """e to the nats per byte."""
        return self.scores["byte_perplexity"]

    @property
    def bits_per_byte(self) -> float:
        """The nats per byte in bits."""
        return self.scores["bits_per_byte"]

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON has."""
        return {
            "documents": self.documents,
            "tokens": self.tokens,
            "bytes": self.bytes,
            "loss": self.loss,
            **self.scores,
            "seconds": self.seconds,
        }

    def render(self) -> str:
        """A small table."""
        perplexities = f"{self.perplexity:.2f} a token, {self.byte_perplexity:.4f} a byte"
        rest = [metric for metric in OF_THE_LOSS.values() if metric not in (PERPLEXITY, BYTE_PERPLEXITY)]
        rows = [
            ("documents", f"{self.documents:,}"),
            ("tokens", f"{self.tokens:,}, {self.bytes / self.tokens:.2f} bytes each"),
            ("loss", f"{self.loss:.4f} nats a token"),
            ("perplexity", perplexities),
            *((metric.label, f"{self.scores[metric.name]:.{metric.fine_digits}f}") for metric in rest),
            ("seconds", f"{self.seconds:.1f}"),
        ]
        return "\n".join(f"{name:<14}{value}" for name, value in rows)


def evaluate_text(run: Path | str, *, text: Path | str, device: str | None = None) -> TextReport:
    """How well the language model `RUN`, `RUN@last` or `RUN@500`, or an exported one, foresees the documents of a file.

    They are blocks between blank lines, or the field `text` of the objects of a .jsonl file; plain, .gz, .xz or .zst,
    or `-` for standard input, which is JSONL where its first line is an object with a `text`.

    A document that is longer than `max_tokens` is read in rows as in training, in which a token sees those before it in
    its row. Raises InputError for a model that translates, and for one that was trained on pairs alone, besides what
    `load_model` raises.
    """
    spec = path_text(run, name="run", allowed=RUN)
    if is_export(Path(spec)):
        model: LoadedModel | ExportedText = load_exported_text(Path(spec), device=device)
    else:
        model = load_model(spec, device=device)
    if not model.recipe.facts.scores_follow_from_the_loss:
        raise input_error(
            f"{run}: no language model, so a text alone cannot be evaluated",
            got="a model that translates",
            allowed="a run with `task: language_model`, or an export of one",
            fix="evaluate translations: --source FILE --reference FILE",
        )
    refuse_pairs_alone(model.recipe, name=run, instead=INSTEAD_OF_TEXT)
    if str(text) == STANDARD_INPUT:
        return report_on_text(model, spooled(sys.stdin.buffer, cache=default_cache()), has_name=False)
    return report_on_text(model, Path(text))


def report_on_text(model: LoadedModel | ExportedText, path: Path, *, has_name: bool = True) -> TextReport:
    """The same for a model that is loaded and a file. The suffix of its name says whether it is JSONL; where it came
    through a pipe and has none, its first line does: an object with a `text`."""
    files = ValidFiles.model_validate({"text": str(path)})
    where = {"root": Path.cwd(), "cache": default_cache()}
    most = passage_bytes(model.recipe.data)
    return report_on_corpus(model, open_corpus(files, passage_bytes=most, has_name=has_name, **where))


@torch.inference_mode()
def report_on_corpus(model: LoadedModel | ExportedText, corpus: Corpus) -> TextReport:
    """The same for documents that are opened, in passages of `passage_bytes`."""
    started = time.perf_counter()
    config = model.recipe.data
    exact = model.tokenizer if isinstance(model, ExportedText) else ExactText(model.tokenizers.target)
    nats, tokens, size, documents = 0.0, 0, 0, 0
    for first in range(0, len(corpus), PASSAGES_AT_ONCE):
        numbers = range(first, min(first + PASSAGES_AT_ONCE, len(corpus)))
        passages = [corpus.passage(number) for number in numbers]
        rows = [row for few in rows_of_passages(passages, exact, config.max_tokens) for row in few]
        size += sum(len(passage.text.encode()) for passage in passages)
        documents += sum(passage.ends for passage in passages)
        tokens += sum(len(row.ids) - row.prompt for row in rows)
        target, prompt = (
            Ragged.of([row.ids for row in rows]),
            np.array([row.prompt for row in rows], np.int32),
        )
        if isinstance(model, ExportedText):
            nats += exported_loss(model, rows)
        else:
            nats += summed_loss(model, no_source(len(target)), target, prompt=prompt)
    loss = nats / tokens
    return TextReport(
        documents=documents,
        tokens=tokens,
        bytes=size,
        loss=loss,
        scores=text_scores(loss, num_targets=tokens, num_bytes=size),
        seconds=time.perf_counter() - started,
    )


def exported_loss(model: ExportedText, rows: Sequence[Row]) -> float:
    """The summed loss (nats) of rows by the library of an export, in float32."""
    nats = 0.0
    batches = batches_by_tokens([len(row.ids) for row in rows], beam=1, batch_tokens=EXPORT_BATCH_TOKENS)
    for batch in batches:
        few = [rows[place] for place in batch]
        logits = model.model.logits([[model.tokenizer.start, *row.ids[:-1]] for row in few])
        for scores, row in zip(logits, few, strict=True):
            targets = torch.tensor(row.ids[row.prompt :], device=scores.device)
            nats += float(cross_entropy(scores[row.prompt :], targets, reduction="sum"))
    return nats
