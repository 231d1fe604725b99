"""A task on text, composed of what all of them share and what is its own."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import torch

from trimtab.config.run import Recipe
from trimtab.data.context import context_of
from trimtab.data.packing import Packing
from trimtab.data.piece_map import PieceMap, map_pieces
from trimtab.data.text_global_batch import TextGlobalBatch
from trimtab.data.tokenizers import check_kept
from trimtab.errors import TrimtabError
from trimtab.export.quantized import Quantized
from trimtab.export.target import Target
from trimtab.export.write_export import ExportReport, GivenText, write_export
from trimtab.finding import Finding
from trimtab.inference import Translator
from trimtab.inference.load import LoadedModel, load_model
from trimtab.model.kinds import Model
from trimtab.model.text_model import build_model
from trimtab.model.warm_start import RowMap, take_weights
from trimtab.run_findings.preflight import DECODING_FAILS
from trimtab.tasks.examples import Checked
from trimtab.tasks.task import OwnChecks, Task, Validation
from trimtab.tasks.text.batches import open_mixtures, plan_batches, with_vocabulary_sizes
from trimtab.tasks.text.causality import sees_what_it_should
from trimtab.tasks.text.data_checks import data_checks
from trimtab.tasks.text.datasets import TextDatasets, TextKind, open_datasets
from trimtab.tasks.text.inspecting import inspect_text
from trimtab.tasks.text.labels import labels_come_next, loss_reads_its_label
from trimtab.tasks.text.losses import build_text_loss, untrained
from trimtab.tasks.text.probing import TextExamples
from trimtab.tasks.text.validation import JUDGED_AGAIN, validated
from trimtab.tasks.text.validation_scores import example_losses, loss_of
from trimtab.watch.attention_places import Vocabulary
from trimtab.watch.unseen_tokens import BOTH


def five_lines(parts: Checked) -> Iterator[Finding]:
    """Lines of the first validation set of pairs, or one of training if there is none."""
    if not parts.recipe.translates:
        return  # the task continues texts and translates nothing
    valid = next((each for each in parts.datasets.valid.values() if each.sources), None)
    pairs = next(each for each in parts.datasets.corpora if not each.has_documents)
    lines = valid.sources[:5] if valid else [pairs.pair(0)[0]]
    parts.model.eval()
    try:
        Translator.of(
            parts, parts.evaluation_model.copy().eval(), beam=2, tags=valid.tags if valid else ()
        ).translate([beginning(line, parts.recipe.data.factor_columns) for line in lines])
    except TrimtabError as error:
        yield DECODING_FAILS.found(f"five lines could not be translated: {error}", fix="")


def beginning(line: str, factor_columns: int) -> str:
    """The first 200 characters of a line; whole words where factors follow them."""
    begun = line[:200]
    return begun.rpartition(" ")[0] if factor_columns and len(line) > len(begun) else begun


def text_task(name: str, kind: TextKind) -> Task:
    """The task of this kind of text."""

    def examples(datasets: TextDatasets, batching: Packing, device: torch.device) -> TextExamples:
        return TextExamples(kind, datasets, batching, device)

    return Task(
        name=name,
        open_datasets=partial(open_datasets, kind),
        resolve_sizes=with_vocabulary_sizes,
        plan_batches=plan_batches,
        open_mixture=open_mixtures,
        build_model=model_of_datasets,
        build_loss=build_text_loss,
        untrained=untrained,
        embedding_rows=embedding_rows,
        ids_read=ids_read,
        vocabulary=vocabulary,
        validation=Validation(loss_of=loss_of, scored=validated, judged_again=JUDGED_AGAIN),
        example_losses=example_losses,
        load_predictor=load_model,
        take_weights=take_text_weights,
        examples=examples,
        checks=OwnChecks(
            data=data_checks,
            batches=(labels_come_next, loss_reads_its_label, sees_what_it_should),
            use=(five_lines,),
        ),
        export=export_text_model,
        check_prepared=check_kept,
        inspect=partial(inspect_text, kind),
    )


def embedding_rows(recipe: Recipe, datasets: TextDatasets) -> dict[str, int]:
    """See `Task.embedding_rows`."""
    tokenizers = datasets.tokenizers
    if tokenizers.shared:
        return {BOTH: tokenizers.target.num_ids}
    return {"source": tokenizers.source.num_ids, "target": tokenizers.target.num_ids}


def ids_read(window: TextGlobalBatch) -> dict[str, np.ndarray]:
    """See `Task.ids_read`."""
    return {"source": window.source.values, "target": window.target.values}


def vocabulary(recipe: Recipe, datasets: TextDatasets) -> Vocabulary:
    """See `Task.vocabulary`."""
    tokenizers, context = datasets.tokenizers, context_of(recipe.data)
    separator = None if context is None else tokenizers.source.id(context.separator)
    return Vocabulary(tokenizers.source.piece, tokenizers.target.piece, separator)


def export_text_model(
    run: Path | str, target: Target, out: Path, *, given: GivenText, quantized: Quantized
) -> ExportReport:
    """See `Task.export`. What is written are the merged matrices, which are compared with the adapter beside its base;
    PEFT's form is the adapter alone."""
    trained = load_model(run, device="cpu")
    written = trained if target.name == "peft" else trained.merged()
    return write_export(trained, target, out, given=given, quantized=quantized, written=written)


def model_of_datasets(recipe: Recipe, datasets: TextDatasets, *, device: torch.device) -> Model:
    """The model with its first weights, sized by the vocabularies of the data."""
    return build_model(recipe, datasets.tokenizers, device=device)


def take_text_weights(old: LoadedModel, datasets: TextDatasets, model: Model, *, name: str) -> str:
    """Puts the weights of `old` into the model, piece by piece where vocabularies differ, each side from the same side
    of the old run; says what was mapped. Raises InputError if the models differ."""
    here = datasets.tokenizers
    target = map_pieces(old.tokenizers.target, here.target)
    shared = old.tokenizers.shared and here.shared
    source = target if shared else map_pieces(old.tokenizers.source, here.source)
    factors = {
        each.name: RowMap([had.values.index(v) if v in had.values else None for v in each.values], {})
        for each in here.factors
        for had in old.tokenizers.factors
        if had.name == each.name
    }
    take_weights(model, old.model, source=rows_of(source), target=rows_of(target), name=name, factors=factors)
    return str(target) if shared else f"source: {source}; target: {target}"


def rows_of(pieces: PieceMap) -> RowMap:
    """The map of a vocabulary, as the model takes it."""
    return RowMap(pieces.same, pieces.spelled)
