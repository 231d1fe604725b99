"""How well a run translates a text whose translation is known."""

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from trimtab.build import shape_for
from trimtab.config.bleu import BleuTokenizer
from trimtab.config.corpora import ParallelFiles
from trimtab.data.cache import default_cache
from trimtab.data.corpus import open_corpus
from trimtab.data.cut import pack_pairs
from trimtab.data.transforms.apply import build_transforms
from trimtab.decode.search import Search
from trimtab.flow import Ragged
from trimtab.loss.build import build_loss
from trimtab.scoring.report import EvaluationReport, Timing, report_on
from trimtab.scoring.scores import bleu_metric
from trimtab.translator import LoadedModel, load_model


def evaluate(
    run: str,
    *,
    source: Path | str,
    reference: Path | str,
    beam: int = 4,
    length_penalty: float = 1.0,
    tags: Sequence[str] = (),
    bleu_tokenizer: BleuTokenizer = "13a",
) -> EvaluationReport:
    """Translates `source` with `RUN`, `RUN@last` or `RUN@500` and scores it against `reference`, line by line.

    `tags` stand before every source line, as in training. Languages without spaces need a BLEU tokenizer of their own.

    The files may be plain, .gz or .xz. Raises InputError where they are missing, unequal, empty or not UTF-8.
    """
    bleu_metric(bleu_tokenizer)  # a library that is missing is told before the work
    files = ParallelFiles(source=str(source), target=str(reference))
    corpus = open_corpus(files, root=Path.cwd(), cache=default_cache())
    pairs = [corpus.pair(line) for line in range(len(corpus))]
    sources, references = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    model = load_model(run)
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
        tokenize=bleu_tokenizer,
    )


@torch.inference_mode()
def reference_loss(
    model: LoadedModel, sources: list[str], references: list[str], *, tags: tuple[str, ...] = ()
) -> float | None:
    """Nats per target token of the references that fit into `max_tokens`; None where none does."""
    tokenizer, recipe = model.tokenizer, model.recipe
    normalise = build_transforms(recipe.data.transforms).apply_source
    source = Ragged.of(tokenizer.encode_with_tags([normalise(line) for line in sources], tags))
    target = Ragged.of(tokenizer.encode(references))
    longest = recipe.data.max_tokens
    fits = np.flatnonzero((source.lengths <= longest) & (target.lengths <= longest))
    if len(fits) == 0:
        return None
    source, target = source.take(fits), target.take(fits)
    device = model.model.output_matrix.device
    loss = build_loss(recipe.loss, num_ids=tokenizer.num_ids, device=device, compiled=False)
    shape = shape_for(recipe, (source.lengths, target.lengths), packed=model.model.kernel == "varlen")
    total = 0.0
    for pack in pack_pairs(source, target, shape, start_symbol=tokenizer.start, pad_symbol=tokenizer.pad):
        pack = pack.to(device)
        total += float(loss(model.model(pack), model.model.output_matrix, pack.labels).loss)
    return total / int(target.offsets[-1])
