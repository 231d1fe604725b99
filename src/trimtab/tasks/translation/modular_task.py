"""Translation in many directions by one modular model: the task of translation, direction by direction."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from trimtab.config.modular_model import ModularModel
from trimtab.config.modular_routes import modular_of
from trimtab.config.run import Recipe
from trimtab.data.piece_map import map_pieces
from trimtab.data.text_global_batch import TextGlobalBatch
from trimtab.export.quantized import Quantized
from trimtab.export.target import Target
from trimtab.export.write_export import ExportReport, GivenText
from trimtab.finding import Finding
from trimtab.inference.load import LoadedModular, load_modular
from trimtab.model.modular.modular import Modular
from trimtab.model.modular.take_components import take_components
from trimtab.tasks.examples import Checked, CutTwoWays
from trimtab.tasks.task import ExampleLosses, Moment, OwnChecks, Task, Validated, Validation
from trimtab.tasks.text.causality import sees_what_it_should
from trimtab.tasks.text.data_checks import example_checks, pair_checks
from trimtab.tasks.text.datasets import Side
from trimtab.tasks.text.labels import labels_come_next, loss_reads_its_label
from trimtab.tasks.text.losses import build_text_loss
from trimtab.tasks.text.probing import TextExamples, few_examples, one_pack
from trimtab.tasks.text.text_task import embedding_rows as rows_of_sides
from trimtab.tasks.text.text_task import export_text_model, five_lines, rows_of
from trimtab.tasks.text.validation import JUDGED_AGAIN, validated
from trimtab.tasks.text.validation_scores import example_losses, loss_of
from trimtab.tasks.translation.directed_batches import DirectedPacking, plan_directed
from trimtab.tasks.translation.directions import (
    DirectedDatasets,
    DirectedLoss,
    open_directed,
    parts_of,
    split_by_direction,
)
from trimtab.tasks.translation.placement import placed_ranks
from trimtab.tasks.translation.task import KIND, TRANSLATION
from trimtab.types import DirectedBatch


@dataclass(slots=True)
class DirectedExamples:
    """See `tasks.examples.Examples`: the first examples of each direction."""

    kind: Any
    datasets: DirectedDatasets
    batching: DirectedPacking
    device: torch.device

    def few(self) -> DirectedBatch:
        """A handful of examples of each direction."""
        return DirectedBatch(
            tuple((name, one_pack(each, few_examples(each))) for name, each in self.by_direction())
        )

    def first(self) -> list[DirectedBatch]:
        """The first examples of each direction."""
        return [DirectedBatch(((name, pack),)) for name, each in self.by_direction() for pack in each.first()]

    def cuts(self) -> Iterator[CutTwoWays]:
        """Three windows, each with examples of every direction, whole and in pieces."""
        for cuts in zip(*(each.cuts() for _, each in self.by_direction()), strict=False):
            names = [name for name, _ in self.by_direction()]
            whole = DirectedBatch(tuple((name, cut.whole) for name, cut in zip(names, cuts, strict=True)))
            pieces = [
                DirectedBatch(((name, pack),))
                for name, cut in zip(names, cuts, strict=True)
                for pack in cut.pieces
            ]
            yield CutTwoWays(whole, pieces, sum(cut.num_targets for cut in cuts))

    def fullest(self) -> DirectedBatch:
        """Rows of the greatest length in every pack of a largest micro-batch."""
        pack = TextExamples(KIND, self.datasets, self.batching.packing, self.device).fullest()
        return DirectedBatch(tuple((name, pack) for name in self.batching.at_once))

    def sides(self) -> list[Side]:
        """The vocabularies of the run, each with the ids of its first examples."""
        return KIND.sides(self.datasets)

    def by_direction(self) -> Iterator[tuple[str, TextExamples]]:
        """The examples of each direction, as a plain translation run has them."""
        for name in self.batching.planned:
            datasets = self.datasets.of_direction(name)
            yield name, TextExamples(KIND, datasets, self.batching.packing, self.device)


def examples(datasets: DirectedDatasets, batching: DirectedPacking, device: torch.device) -> DirectedExamples:
    """What checks look at."""
    return DirectedExamples(KIND, datasets, batching, device)


def build_modular(recipe: Recipe, datasets: DirectedDatasets, *, device: torch.device) -> Modular:
    """The model with its first weights, sized by the vocabulary of the data."""
    num_ids = datasets.tokenizers.target.num_ids
    return Modular(
        modular_of(recipe), num_ids=num_ids, max_positions=recipe.max_positions, seed=recipe.seed
    ).to(device)


def build_directed_loss(recipe: Recipe, datasets: DirectedDatasets, *, device: torch.device) -> DirectedLoss:
    """The loss of a recipe on the device."""
    return DirectedLoss(build_text_loss(recipe, datasets, device=device))


def loss_of_set(parts: Any, model: Modular, valid: Any, **given: Any) -> float:
    """Nats per target token of a validation set, by the translator of its direction."""
    direction = direction_of(parts, valid)
    return loss_of(parts_of(parts, direction), model.translator(direction), valid, **given)


def validated_set(parts: Any, model: Modular, valid: Any, moment: Moment) -> Validated:
    """Scores, findings and samples of a validation set, by the translator of its direction."""
    direction = direction_of(parts, valid)
    return validated(parts_of(parts, direction), model.translator(direction), valid, moment)


def direction_of(parts: Any, valid: Any) -> str:
    """The direction of a validation set."""
    return parts.recipe.data.valid[valid.name].direction


def losses_of_examples(parts: Any, window: TextGlobalBatch) -> ExampleLosses:
    """The loss of each example of a window by the translator of its direction, in the window's order."""
    count = len(window.target)
    loss, targets = np.zeros(count), np.zeros(count, np.int64)
    for name, chosen, part in split_by_direction(window, parts.datasets.directions):
        found = example_losses(parts_of(parts, name), part)
        loss[chosen], targets[chosen] = found.loss, found.targets
    return ExampleLosses(loss, targets)


def in_each_direction(
    check: Callable[[Checked], Iterator[Finding]],
) -> Callable[[Checked], Iterator[Finding]]:
    """A check of translation runs, for one direction after another until one shows something. A direction whose
    components have all been looked at is passed over."""

    def checked(parts: Checked) -> Iterator[Finding]:
        for name in covering(modular_of(parts.recipe)):
            found = [
                replace(each, message=f"{name}: {each.message}") for each in check(parts_of(parts, name))
            ]
            if found:
                yield from found
                return

    checked.__name__, checked.__doc__ = check.__name__, check.__doc__
    return checked


def covering(model: ModularModel) -> list[str]:
    """Directions that run through every component, in the model's order: each has one that those before have not."""
    chosen: list[str] = []
    seen: set[str] = set()
    for name in model.directions:
        route = model.route(name)
        own = {*route.components, *(model.tables(each) for each in (route.source, route.target))}
        if not own <= seen:
            chosen.append(name)
            seen |= own
    return chosen


def directed_data_checks(parts: Checked) -> Iterator[Finding]:
    """What the vocabulary, the first examples, the corpora and the validation sets show; corpora are compared with
    those of the same direction."""
    yield from example_checks(parts)
    datasets, sets = parts.datasets, parts.recipe.data.valid
    for name in modular_of(parts.recipe).directions:
        corpora = [
            corpus for corpus, each in zip(datasets.corpora, datasets.directions, strict=True) if each == name
        ]
        valid = [found for key, found in datasets.valid.items() if sets[key].direction == name]
        yield from pair_checks(corpora, valid)


def embedding_rows(recipe: Recipe, datasets: DirectedDatasets) -> dict[str, int]:
    """See `Task.embedding_rows`; none with a table for each language, since the ids of a batch do not say whose row is
    read."""
    return {} if modular_of(recipe).embeddings == "language" else rows_of_sides(recipe, datasets)


def take_modular_weights(old: LoadedModular, datasets: DirectedDatasets, model: Modular, *, name: str) -> str:
    """Puts the weights of the components that `old` has too into the model, and says which are new."""
    pieces = map_pieces(old.tokenizers.target, datasets.tokenizers.target)
    return f"{take_components(model, old.model, rows=rows_of(pieces), name=name)}; {pieces}"


def export_direction(
    run: Path | str, target: Target, out: Path, *, given: GivenText, quantized: Quantized
) -> ExportReport:
    """See `Task.export`; `run` names its direction, as in `RUN#en-de`."""
    return export_text_model(run, target, out, given=given, quantized=quantized)


MODULAR = replace(
    TRANSLATION,
    open_datasets=open_directed,
    plan_batches=plan_directed,
    build_model=build_modular,
    build_loss=build_directed_loss,
    validation=Validation(loss_of=loss_of_set, scored=validated_set, judged_again=JUDGED_AGAIN),
    example_losses=losses_of_examples,
    placed_ranks=placed_ranks,
    embedding_rows=embedding_rows,
    load_predictor=load_modular,
    take_weights=take_modular_weights,
    examples=examples,
    checks=OwnChecks(
        data=directed_data_checks,
        batches=tuple(map(in_each_direction, (labels_come_next, loss_reads_its_label, sees_what_it_should))),
        use=(in_each_direction(five_lines),),
    ),
    export=export_direction,
)
"""Translation by a modular model. What it does with data, micro-batches and losses is done by direction."""

_: Task = MODULAR
