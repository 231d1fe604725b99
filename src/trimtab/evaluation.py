"""How well a run translates a text whose translation is known."""

import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch

from trimtab.choices import shape_for
from trimtab.config.bleu import BleuTokenizer
from trimtab.config.corpora import ParallelFiles
from trimtab.data.cache import default_cache
from trimtab.data.corpus import open_corpus
from trimtab.data.cut import pack_pairs
from trimtab.data.formats.documents import DocumentPairs
from trimtab.data.reference_rows import reference_rows
from trimtab.data.spool import STANDARD_INPUT, spooled
from trimtab.decode.search import Search
from trimtab.errors import input_error
from trimtab.loss.build import build_loss
from trimtab.scoring.document_report import DocumentReport, Waits, report_on_documents
from trimtab.scoring.measures import Measures
from trimtab.scoring.report import EvaluationReport, Timing, report_on
from trimtab.scoring.scores import bleu_metric
from trimtab.translator import ExportedModel, LoadedModel, Translator, open_model

BLEU_AND_CHRF = Measures()
TIMED_DOCUMENTS, TIMED_SENTENCES = 12, 10
"""How many documents, and how much of each, are translated one at a time to see how long a reader waits."""
SIDE_BY_SIDE = 128
"""Documents translated together; as many of them at a time as a batch holds."""


def evaluate(
    run: str,
    *,
    source: Path | str,
    reference: Path | str,
    beam: int = 4,
    length_penalty: float = 1.0,
    tags: Sequence[str] = (),
    measures: Measures = BLEU_AND_CHRF,
) -> EvaluationReport:
    """Translates `source` with `RUN`, `RUN@last`, `RUN@500` or the folder of an export and scores it against
    `reference`, line by line.

    `tags` stand before every source line, as in training. `measures` says what is scored beside BLEU, chrF and the
    loss, and how BLEU cuts words: languages without spaces need a tokenizer of their own.

    The files may be plain, .gz, .xz or .zst, and one of them `-`, which is standard input. Raises InputError where they
    are missing, unequal, empty or not UTF-8.
    """
    measures.check()  # a library that is missing is told before the work
    files = ParallelFiles(**_files(source, reference))
    corpus = open_corpus(files, root=Path.cwd(), cache=default_cache())
    pairs = [corpus.pair(line) for line in range(len(corpus))]
    sources, references = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    model = open_model(run)
    translator = model.translator(search=Search(beam=beam, length_penalty=length_penalty), tags=tuple(tags))
    started = time.perf_counter()
    outputs = translator.translate(sources)
    seconds = time.perf_counter() - started
    tokens = translator.counts.source_tokens + translator.counts.target_tokens
    return report_on(
        outputs,
        sources=sources,
        references=references,
        timing=Timing(seconds=seconds, num_tokens=tokens),
        loss=reference_loss(model, sources, references, tags=tuple(tags)),
        measures=measures,
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
    """Nats per target token of the references that fit into `max_tokens`; None where none does."""
    tokenizers, recipe = model.tokenizers, model.recipe
    rows = reference_rows(recipe, tokenizers, sources, references, tags=tags)
    fits = rows.fits
    if len(fits) == 0:
        return None
    source, target, prompt = rows.source.take(fits), rows.target.take(fits), rows.prompt[fits]
    if isinstance(model, ExportedModel):
        return -sum(model.log_probabilities(source, target)) / int(target.offsets[-1])
    device = model.model.output_matrix.device
    loss = build_loss(recipe.loss, num_ids=tokenizers.target.num_ids, device=device)
    shape = shape_for(recipe, (source.lengths, target.lengths), packed=model.model.kernel == "varlen")
    total = 0.0
    for pack in pack_pairs(source, target, shape, prompt=prompt, **tokenizers.symbols):
        pack = pack.to(device)
        total += float(loss(model.model(pack), model.model.output_matrix, pack.labels).loss)
    return total / int(rows.target_tokens[fits].sum())


def evaluate_documents(
    run: str,
    *,
    documents: Path | str,
    source: str = "src",
    target: str = "tgt",
    beam: int = 4,
    tags: Sequence[str] = (),
    bleu_tokenizer: BleuTokenizer = "13a",
) -> DocumentReport:
    """Translates a JSONL file of documents with a run, sentence by sentence where it was trained so, and scores it.

    `source` and `target` name the two lists of sentences. Scores and seconds are of all sentences, the documents side
    by side; how long a reader waits is measured before on a few of them, one at a time. Raises InputError as
    `evaluate` does.
    """
    bleu_metric(bleu_tokenizer)  # a library that is missing is told before the work
    files = ParallelFiles(source=source, target=target, documents=str(documents))
    pairs = open_corpus(files, root=Path.cwd(), cache=default_cache()).pairs
    assert isinstance(pairs, DocumentPairs)
    read = [pairs.document(number) for number in range(pairs.num_documents)]
    sources, references = ([[pair[side] for pair in document] for document in read] for side in (0, 1))
    translator = open_model(run).translator(search=Search(beam=beam), tags=tuple(tags))
    waits = waits_of(translator, [document[:TIMED_SENTENCES] for document in sources[:TIMED_DOCUMENTS]])
    chunks = translator.counts.chunks, translator.counts.misaligned
    started = time.perf_counter()
    outputs = list(translator.translate_documents(sources, side_by_side=SIDE_BY_SIDE))
    return report_on_documents(
        outputs,
        references,
        seconds=time.perf_counter() - started,
        waits=waits,
        chunks=(translator.counts.chunks - chunks[0], translator.counts.misaligned - chunks[1]),
        tokenize=bleu_tokenizer,
    )


def waits_of(translator: Translator, documents: Sequence[Sequence[str]]) -> Waits:
    """How long each sentence takes from being read to being translated, one document at a time, after a first one
    that is not counted."""
    first: list[float] = []
    every: list[float] = []
    for document in [*documents[:1], *documents]:
        read: list[float] = []

        def noted(document: Sequence[str] = document, read: list[float] = read) -> Iterator[str]:
            for sentence in document:
                read.append(time.perf_counter())
                yield sentence

        found: list[float] = []
        for _ in translator.stream_documents([noted()]):
            found.append(time.perf_counter() - read[len(found)])
        first.extend(found[:1])
        every.extend(found)
    skipped = len(documents[0]) if documents else 0
    return Waits(first[min(1, skipped) :], every[skipped:])
