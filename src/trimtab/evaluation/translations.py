"""How well a run translates a text whose translation is known."""

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from trimtab.config.corpora import ParallelFiles
from trimtab.data.cache import default_cache
from trimtab.data.corpus import open_corpus
from trimtab.data.factored_pieces import ordered_files
from trimtab.data.lines import open_lines, refuse_long_lines
from trimtab.data.reference_rows import reference_rows
from trimtab.data.source_factors import split_words
from trimtab.data.spool import STANDARD_INPUT, spooled
from trimtab.data.tags import meant_tags
from trimtab.decode.search import Search
from trimtab.errors import input_error
from trimtab.evaluation.report import BLEU_AND_CHRF, EvaluationReport, RequestedMetrics, Timing, report_on
from trimtab.evaluation.score_rows import summed_loss
from trimtab.inference import ExportedModel, LoadedModel, open_model


@dataclass(frozen=True, slots=True)
class FactoredSource:
    """A text with its source factors in files beside it."""

    path: Path | str
    factors: Mapping[str, Path | str]
    """By the names of the factors."""


def evaluate(
    run: Path | str,
    *,
    source: Path | str | FactoredSource,
    reference: Path | str,
    beam: int = 4,
    length_penalty: float = 1.0,
    tags: Sequence[str] = (),
    metrics: RequestedMetrics = BLEU_AND_CHRF,
) -> EvaluationReport:
    """Translates `source` with `RUN`, `RUN@last`, `RUN@500` or the folder of an export and scores it against
    `reference`, line by line.

    `tags` are put before every source line, as in training. `metrics` says what is scored beside BLEU, chrF and the
    loss, and how BLEU cuts words: languages without spaces need a tokenizer of their own.

    For a model that reads source factors from files, `source` is a `FactoredSource`, or has the values after each
    word: `word|value`.

    The files may be plain, .gz, .xz or .zst, and one of them `-`, which is standard input. Raises InputError if they
    are missing, unequal, empty or not UTF-8.
    """
    metrics.check()  # fails before the work where a library is missing
    factors: Mapping[str, Path | str] = source.factors if isinstance(source, FactoredSource) else {}
    source = source.path if isinstance(source, FactoredSource) else source
    model = open_model(run) if factors else None
    beside = {} if model is None else ordered_files(factors, model.tokenizers.factors)
    paths = _files(source, reference)
    files = ParallelFiles(source=paths["source"], target=paths["target"], factors=beside)
    corpus = open_corpus(files, root=Path.cwd(), cache=default_cache())
    for name, path in ((source, files.source), (reference, files.target)):
        refuse_long_lines(open_lines(Path(str(path)), cache=default_cache()), name=str(name))
    pairs = [corpus.pair(line) for line in range(len(corpus))]
    sources, references = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    model = open_model(run) if model is None else model
    columns = model.recipe.data.factor_columns
    words = [split_words(each, columns, place=(str(source), line)) for line, each in enumerate(sources, 1)]
    tags = meant_tags(tags or model.tags, model.tokenizers.source, config=model.recipe.data)
    translator = model.translator(search=Search(beam=beam, length_penalty=length_penalty), tags=tags)
    started = time.perf_counter()
    outputs = translator.translate(sources)
    seconds = time.perf_counter() - started
    tokens = translator.counts.source_tokens + translator.counts.target_tokens
    return report_on(
        outputs,
        sources=[" ".join(word for word, *_ in each) for each in words] if columns else sources,
        references=references,
        timing=Timing(seconds=seconds, num_tokens=tokens),
        loss=reference_loss(model, sources, references, tags=tags),
        metrics=metrics,
        gpus=int(model.device.type == "cuda"),
    )


def _files(source: Path | str, reference: Path | str) -> dict[str, str]:
    """The paths, standard input copied into a file."""
    paths = {"source": str(source), "target": str(reference)}
    piped = [side for side, path in paths.items() if path == STANDARD_INPUT]
    if len(piped) > 1:
        raise input_error(
            "source and reference: both are standard input",
            got="- and -",
            allowed="- for one of them",
            fix="name a file for the other",
        )
    for side in piped:
        paths[side] = str(spooled(sys.stdin.buffer, cache=default_cache()))
    return paths


@torch.inference_mode()
def reference_loss(
    model: LoadedModel | ExportedModel,
    sources: list[str],
    references: list[str],
    *,
    tags: tuple[str, ...] = (),
) -> float | None:
    """Nats per target token of the references that fit into `max_tokens`; None if none does."""
    tokenizers, recipe = model.tokenizers, model.recipe
    rows = reference_rows(recipe, tokenizers, sources, references, tags=tags)
    fits = rows.fits
    if len(fits) == 0:
        return None
    source, target, prompt = rows.source.take(fits), rows.target.take(fits), rows.prompt[fits]
    if isinstance(model, ExportedModel):
        return -sum(model.log_probabilities(source, target)) / int(target.offsets[-1])
    return summed_loss(model, source, target, prompt=prompt) / int(rows.target_tokens[fits].sum())
