"""A trained classifier, ready to label texts."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import torch

from trimtab.checkpoint.load import Checkpoint
from trimtab.checkpoint.resolve import resolve_checkpoint
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.config.given_path import RUN, path_text
from trimtab.config.load import load_recipe
from trimtab.config.run import Recipe
from trimtab.data.stored_tokenizer import load_stored
from trimtab.data.tokenizers import Tokenizers
from trimtab.data.transforms.apply import build_transforms
from trimtab.decode.given_texts import checked_texts
from trimtab.device import choose_device
from trimtab.errors import input_error
from trimtab.inference.chosen_weights import chosen_weights
from trimtab.inference.load import check_tokenizers, load_weights
from trimtab.model.module.classifier import ModuleClassifier
from trimtab.step.precision import resolve_precision
from trimtab.tasks.classification.batches import Batching, plan_shape
from trimtab.tasks.classification.building import classifier_of
from trimtab.tasks.classification.datasets import TextReader
from trimtab.tasks.classification.labels import Labels, load_labels
from trimtab.tasks.classification.model import SequenceClassifier
from trimtab.tasks.classification.validation import log_probabilities

LINES_AT_ONCE = 256
"""Lines read ahead and scored together."""


@dataclass(frozen=True, slots=True)
class Classified:
    """What a model says of one text."""

    label: str
    """The likeliest one."""
    probabilities: dict[str, float]
    """Of each label; they sum to 1."""

    @property
    def probability(self) -> float:
        """Of the likeliest label."""
        return self.probabilities[self.label]


@dataclass(frozen=True, slots=True)
class Classifier:
    """A checkpoint's model on its device, with the tokenizer and the labels that belong to it."""

    recipe: Recipe
    checkpoint: Checkpoint
    model: SequenceClassifier | ModuleClassifier
    reader: TextReader
    labels: Labels

    def __repr__(self) -> str:
        return f"Classifier({str(self.checkpoint.folder)!r}, {len(self.labels)} labels)"

    def classify(self, lines: Iterable[str]) -> Iterator[Classified]:
        """The label of each line with the probabilities of all labels, in order and in bounded memory. Of a line of
        more than `data.max_tokens` the beginning is read. Raises InputError for one text in place of a list."""
        return self._in_blocks(iter(checked_texts(lines, name="lines")))

    def _in_blocks(self, lines: Iterator[str]) -> Iterator[Classified]:
        while block := list(islice(lines, LINES_AT_ONCE)):
            for row in self.probabilities(block):
                best = self.labels.names[int(row.argmax())]
                yield Classified(best, dict(zip(self.labels.names, row.tolist(), strict=True)))

    @torch.inference_mode()
    def probabilities(self, lines: list[str]) -> np.ndarray:
        """The probability of each label for each line, `lines labels`, float64."""
        rows = self.reader.rows(lines)
        order = np.argsort(rows.lengths, kind="stable")
        device, packed = self.model.output_matrix.device, not self.model.padded
        shape = plan_shape(
            self.recipe.step, rows.lengths, max_tokens=self.recipe.data.max_tokens, packed=packed
        )
        batching = Batching(shape, self.reader.tokenizer.pad, lambda step: len(lines), device)
        batches = batching.whole_set(rows.take(order), np.zeros(len(lines), np.int32))
        found = torch.cat([log_probabilities(self.model, batch).double().exp() for batch in batches])
        back = np.empty((len(lines), len(self.labels)))
        back[order] = found.cpu().numpy()
        return back


def load_classifier(spec: Path | str, *, device: str | None = None) -> Classifier:
    """The classifier of `RUN`, `RUN@last` or `RUN@500`; on a GPU in half precision.

    Raises InputError if there is no such run or checkpoint, it is no classifier, the checkpoint is damaged, or
    recipe, tokenizer or labels are not those that it was trained with.
    """
    place = choose_device(device)
    checkpoint = resolve_checkpoint(path_text(spec, name="run", allowed=RUN))
    run = RunFolder(checkpoint.run)
    recipe = load_recipe(run.recipe).recipe
    if recipe.task != "classification":
        raise input_error(
            f"{spec}: no classifier",
            got=f"a run with `task: {recipe.task}`",
            allowed="a run with `task: classification`",
            fix="name a run of this task",
        )
    tokenizer, labels = load_stored(run.tokenizer), load_labels(run.tokenizer)
    check_tokenizers(Tokenizers(tokenizer, tokenizer), run, checkpoint)
    check_labels(labels, run, checkpoint)
    model = classifier_of(recipe, tokenizer, num_labels=len(labels))
    load_weights(model, run, chosen_weights(checkpoint, recipe), checkpoint=checkpoint)
    if place.type == "cuda":
        half = torch.float16 if resolve_precision("auto", place) == "fp16_mixed" else torch.bfloat16
        model = model.half_precision_copy(half)
        model.kernel = "padded" if recipe.model.needs_padding else "varlen"
    reader = TextReader(build_transforms(recipe.data.transforms), tokenizer, recipe.data.max_tokens)
    return Classifier(recipe, checkpoint, model.to(place).eval(), reader, labels)


def check_labels(labels: Labels, run: RunFolder, checkpoint: Checkpoint) -> None:
    """Raises InputError if a number means another label than it did in training."""
    trained_with = checkpoint.fingerprints.get("labels")
    if labels.fingerprint != trained_with:
        raise input_error(
            f"{run.tokenizer}: not the labels that the model was trained with",
            got=labels.shown(),
            allowed=f"sha256 {str(trained_with)[:16]}, as checkpoint {checkpoint.folder.name} says",
            fix="restore the labels of this run",
        )
