"""A trained classifier, ready to label texts."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import torch

from trimtab.checkpoint.load import Checkpoint
from trimtab.config.given_path import RUN, path_text
from trimtab.config.pretrained.place import refuse_unknown_name, where_it_is
from trimtab.config.run import Recipe
from trimtab.config.tokenizer import PretrainedTokenizer
from trimtab.config.transformers_model import TransformersModel
from trimtab.data.side_tokenizers import read_side
from trimtab.data.stored_tokenizer import AnyTokenizer, load_stored
from trimtab.data.tokenizers import Tokenizers
from trimtab.data.transforms.apply import build_transforms
from trimtab.decode.given_texts import checked_texts
from trimtab.device import choose_device
from trimtab.errors import input_error
from trimtab.inference.adapter_folder import RECIPE, put_adapter, recipe_of_adapter
from trimtab.inference.load import check_tokenizers, refuse_gone, with_base
from trimtab.inference.pretrained import is_pretrained
from trimtab.inference.ready import prepare_for_inference
from trimtab.model.lora import add_lora, begin_adapter
from trimtab.model.module.classifier import ModuleClassifier
from trimtab.tasks.classification.batches import Batching, plan_shape
from trimtab.tasks.classification.building import classifier_of
from trimtab.tasks.classification.datasets import TextReader
from trimtab.tasks.classification.model import SequenceClassifier
from trimtab.tasks.classification.validation import log_probabilities
from trimtab.tasks.labels import Labels, load_labels
from trimtab.tasks.trained_run import trained_run

OF_EXPORT = "trimtab"
"""Where an exported adapter has the labels and the recipe of its run."""
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
    checkpoint: Checkpoint | None
    """None for an exported adapter."""
    model: SequenceClassifier | ModuleClassifier
    reader: TextReader
    labels: Labels

    def __repr__(self) -> str:
        place = self.checkpoint.folder if self.checkpoint else self.recipe.model.kind
        return f"Classifier({str(place)!r}, {len(self.labels)} labels)"

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
        batching = Batching(shape, lambda step: len(lines), device, self.reader.tokenizer.pad)
        batches = batching.whole_set(rows.take(order), np.zeros(len(lines), np.int32))
        found = torch.cat([log_probabilities(self.model, batch).double().exp() for batch in batches])
        back = np.empty((len(lines), len(self.labels)))
        back[order] = found.cpu().numpy()
        return back


def load_classifier(
    spec: Path | str, *, device: str | None = None, adapter: Path | str | None = None
) -> Classifier:
    """The classifier of `RUN`, `RUN@last` or `RUN@500`; on a GPU in half precision. With an `adapter`, the run that
    trained one or what `export --to peft` made of it, `spec` is the pretrained encoder that it was trained on.

    Raises InputError if there is no such run or checkpoint, it is no classifier, the checkpoint is damaged, or
    recipe, tokenizer or labels are not those that it was trained with; and where an adapter belongs to other weights.
    """
    spec = path_text(spec, name="run", allowed=RUN)
    if adapter is not None:
        refuse_unknown_name(spec, wanted="the pretrained encoder: a folder, or OWNER/NAME that is downloaded")
        return _adapted(where_it_is(spec, folder=Path.cwd()), Path(adapter), device=device)
    return _of_run(spec, device=device)


def _of_run(spec: str, *, device: str | None, base: Path | None = None) -> Classifier:
    run = trained_run(spec, task="classification", kind="classifier")
    recipe = run.recipe if base is None else with_base(run.recipe, base)
    folder = run.folder.tokenizer
    tokenizer, labels = load_stored(folder), load_labels(folder)
    check_tokenizers(Tokenizers(tokenizer, tokenizer), run.folder, run.checkpoint)
    run.check_trained_with(labels.fingerprint, name="labels", what="labels", got=labels.shown())
    model = classifier_of(recipe, tokenizer, num_labels=len(labels))
    if recipe.adapter is not None:
        assert isinstance(recipe.model, TransformersModel), "other kinds are refused with the recipe"
        assert isinstance(model, ModuleClassifier), "that is what such a recipe describes"
        add_lora(model, recipe.adapter, seed=recipe.seed, device=choose_device(device))
        refuse_gone(recipe.model.path, run=run.folder, key="model.path")
        model.fill(recipe.model.path, sha256=recipe.model.sha256)
        begin_adapter(model)
    run.load_weights(model)
    return _ready(recipe, run.checkpoint, model, labels=labels, tokenizer=tokenizer, device=device)


def _adapted(folder: Path, adapter: Path, *, device: str | None) -> Classifier:
    """A pretrained encoder with an adapter and the head that was trained beside it."""
    recipe = recipe_of_adapter(adapter, base=str(folder))
    if not is_pretrained(folder) or not isinstance(recipe.model, TransformersModel):
        raise input_error(
            f"--adapter: {folder} is no pretrained encoder",
            got=f"{folder}, and an adapter of `model.kind: {recipe.model.kind}`",
            allowed="the folder with the config.json of the model that the adapter was trained on",
            fix=f"name {recipe.model.path}"
            if isinstance(recipe.model, TransformersModel)
            else "name a run that adapted a pretrained encoder",
        )
    if (adapter / RECIPE).is_file():
        return _of_run(str(adapter), device=device, base=folder)
    labels = load_labels(adapter / OF_EXPORT)
    tokenizer = read_side(PretrainedTokenizer(path=str(folder)), "source", task="classification")
    model = classifier_of(with_base(recipe, folder), tokenizer, num_labels=len(labels))
    assert isinstance(model, ModuleClassifier), "that is what such a recipe describes"
    taken = model.fill(str(folder), sha256=recipe.model.sha256)
    put_adapter(model, adapter, base=str(folder), sha256=taken.sha256)
    return _ready(recipe, None, model, labels=labels, tokenizer=tokenizer, device=device)


def _ready(
    recipe: Recipe,
    checkpoint: Checkpoint | None,
    model: SequenceClassifier | ModuleClassifier,
    *,
    labels: Labels,
    tokenizer: AnyTokenizer,
    device: str | None,
) -> Classifier:
    place = choose_device(device)
    reader = TextReader(build_transforms(recipe.data.transforms), tokenizer, recipe.data.max_tokens)
    ready = prepare_for_inference(place, model, kernel="padded" if recipe.model.needs_padding else "varlen")
    return Classifier(recipe, checkpoint, ready, reader, labels)
