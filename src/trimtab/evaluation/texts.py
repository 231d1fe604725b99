"""How well a language model predicts a text: nats per token, perplexity per token and per byte."""

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from trimtab.config.corpora import ValidFiles
from trimtab.config.pairs_alone import refuse_pairs_alone
from trimtab.data.cache import default_cache
from trimtab.data.corpus import Corpus, open_corpus
from trimtab.data.exact_text import ExactText
from trimtab.data.spool import STANDARD_INPUT, spooled
from trimtab.data.text_rows import no_source, passage_bytes, rows_of_passages
from trimtab.errors import input_error
from trimtab.evaluation.score_rows import summed_loss
from trimtab.inference import ExportedModel, LoadedModel, open_model
from trimtab.metrics.catalogue import OF_THE_LOSS, text_scores
from trimtab.metrics.perplexity import BYTE_PERPLEXITY, PERPLEXITY
from trimtab.types import Ragged

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


def evaluate_text(run: str, *, text: Path | str, device: str | None = None) -> TextReport:
    """How well the language model `RUN`, `RUN@last` or `RUN@500` foresees the documents of a file: blocks between blank
    lines, or the field `text` of the objects of a .jsonl file; plain, .gz, .xz or .zst, or `-` for standard input,
    which is JSONL where its first line is an object with a `text`.

    A document that is longer than `max_tokens` is read in rows as in training, in which a token sees those before it in
    its row. Raises InputError for a model that translates, and for one that was trained on pairs alone, besides what
    `load_model` raises.
    """
    model = open_model(run, device=device)
    if isinstance(model, ExportedModel) or not model.recipe.facts.scores_follow_from_the_loss:
        raise input_error(
            f"{run}: not the run of a language model, so it cannot be evaluated on a text",
            got="an export" if isinstance(model, ExportedModel) else "a model that translates",
            allowed="a run with `task: language_model`",
            fix="name a run, or evaluate translations: --source FILE --reference FILE",
        )
    refuse_pairs_alone(model.recipe, name=run, instead=INSTEAD_OF_TEXT)
    if str(text) == STANDARD_INPUT:
        return report_on_text(model, spooled(sys.stdin.buffer, cache=default_cache()), has_name=False)
    return report_on_text(model, Path(text))


def report_on_text(model: LoadedModel, path: Path, *, has_name: bool = True) -> TextReport:
    """The same for a model that is loaded and a file. The suffix of its name says whether it is JSONL; where it came
    through a pipe and has none, its first line does: an object with a `text`."""
    files = ValidFiles.model_validate({"text": str(path)})
    where = {"root": Path.cwd(), "cache": default_cache()}
    most = passage_bytes(model.recipe.data)
    return report_on_corpus(model, open_corpus(files, passage_bytes=most, has_name=has_name, **where))


@torch.inference_mode()
def report_on_corpus(model: LoadedModel, corpus: Corpus) -> TextReport:
    """The same for documents that are opened, in passages of `passage_bytes`."""
    started = time.perf_counter()
    config = model.recipe.data
    nats, tokens, size, documents = 0.0, 0, 0, 0
    for first in range(0, len(corpus), PASSAGES_AT_ONCE):
        numbers = range(first, min(first + PASSAGES_AT_ONCE, len(corpus)))
        passages = [corpus.passage(number) for number in numbers]
        exact = ExactText(model.tokenizers.target)
        rows = [row for few in rows_of_passages(passages, exact, config.max_tokens) for row in few]
        size += sum(len(passage.text.encode()) for passage in passages)
        documents += sum(passage.ends for passage in passages)
        tokens += sum(len(row.ids) - row.prompt for row in rows)
        target, prompt = (
            Ragged.of([row.ids for row in rows]),
            np.array([row.prompt for row in rows], np.int32),
        )
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
