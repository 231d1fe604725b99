"""`trimtab export --to hf` of a classifier with a pretrained encoder: a folder that transformers opens, proven on real
texts."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from trimtab.checkpoint.run_folder import RunFolder
from trimtab.config.render import render_recipe
from trimtab.config.transformers_model import TransformersModel
from trimtab.data.cache import default_cache
from trimtab.data.corpus import open_corpora
from trimtab.data.stored_sides import FILES
from trimtab.errors import RunFailed, input_error
from trimtab.export.draft import check_place, draft_folder
from trimtab.export.hf.library import open_tokenizer, quiet
from trimtab.export.hf.module import copy_kept_files, write_config, write_network
from trimtab.export.peft.module import head_modules, opened_network, write_adapter, write_tokenizer
from trimtab.export.peft.target import require_peft
from trimtab.export.public_recipe import public
from trimtab.export.quantized import Quantized
from trimtab.export.target import Target
from trimtab.export.write_export import GivenText
from trimtab.inference.adapter_folder import TRAINED
from trimtab.model.lora import merged_copy
from trimtab.model.module.classifier import ModuleClassifier
from trimtab.tasks.classification.classifier import OF_EXPORT, Classifier, load_classifier
from trimtab.tasks.labels import LABELS_FILE
from trimtab.tasks.task import ExportedFolder

TEXTS, BOUND = 200, 1e-5
"""Texts of the proof, and by how much a probability may differ."""


@dataclass(frozen=True, slots=True)
class LabelGate:
    """What the proof saw."""

    texts: int
    worst_probability: float
    """Largest difference of the probability of a label."""
    read_otherwise: int
    """Texts that the exported tokenizer splits into other ids."""

    @property
    def passed(self) -> bool:
        """Whether the folder may be used in the trainer's place."""
        return self.worst_probability <= BOUND and self.read_otherwise == 0

    def to_dict(self) -> dict[str, object]:
        """Plain data."""
        return {**asdict(self), "bound": BOUND, "passed": self.passed}

    def render(self) -> str:
        """Lines for people."""
        return (
            f"{self.texts} texts, of which {self.read_otherwise} are read otherwise\n"
            f"the probability of a label differs by at most {self.worst_probability:.1e} (bound {BOUND:.0e})"
        )


def export_classifier(
    run: Path | str, target: Target, out: Path, *, given: GivenText, quantized: Quantized
) -> ExportedFolder:
    """See `Task.export`: probabilities must be within 1e-5 of the trainer's on texts of the run's own sets. Only
    classifiers with a pretrained encoder have a class in transformers, which `hf` writes, an adapter merged; `peft`
    writes the adapter and the head alone."""
    classifier = load_classifier(run, device="cpu")
    model, adapter = classifier.model, classifier.recipe.adapter
    if target.name not in ("hf", "peft") or not isinstance(model, ModuleClassifier):
        raise input_error(
            f"export: {run} is a classifier",
            got=f"--to {target.name}, of a model of the kind {classifier.recipe.model.kind}",
            allowed="--to hf or, with an adapter, --to peft, of a classifier with a pretrained encoder",
            fix="label texts with `trimtab classify RUN`",
        )
    if target.name == "peft" and adapter is None:
        raise input_error(
            "adapter: the run has none, so there is nothing to write in PEFT's format",
            got="all weights trained",
            allowed="a run with `adapter: {kind: lora}`",
            fix="export the whole model: `--to hf`",
        )
    if given != GivenText():
        raise input_error(
            "export: a classifier is compared on texts of its own sets",
            got="text of your own, or tags",
            allowed="neither",
            fix="leave --source, --reference and --tag out",
        )
    checkpoint = classifier.checkpoint
    assert checkpoint is not None, "a run has one"
    check_place(out, run=checkpoint.run)
    with draft_folder(out) as draft:
        files = RunFolder(checkpoint.run).tokenizer / FILES
        if target.name == "peft":
            open_network = write_adapted(classifier, model, files, draft)
        else:
            open_network = write_whole(classifier, merged_copy(model), files, draft)
        gate = compare(classifier, draft, open_network)
        if not gate.passed:
            raise RunFailed(f"the export differs from the trainer; nothing was written\n{gate.render()}")
        text = json.dumps(gate.to_dict(), indent=2) + "\n"
        (draft / "gate.json").write_text(text, encoding="utf-8")
    return ExportedFolder(out, target.name, checkpoint.step, gate)


def write_whole(
    classifier: Classifier, model: ModuleClassifier, files: Path, folder: Path
) -> Callable[[], Any]:
    """Writes the whole model, and gives what opens it as its users do."""
    from transformers import AutoModelForSequenceClassification

    copy_kept_files(files, folder)
    write_network(model.network, folder)
    architectures = [type(model.network).__name__]
    write_config(
        files,
        folder,
        architectures=architectures,
        problem_type="single_label_classification",
        **named_labels(classifier),
    )
    return lambda: AutoModelForSequenceClassification.from_pretrained(
        folder, local_files_only=True, trust_remote_code=False, use_safetensors=True
    )


def write_adapted(
    classifier: Classifier, model: ModuleClassifier, files: Path, folder: Path
) -> Callable[[], Any]:
    """Writes the adapter and the head, what `trimtab classify --adapter` has to know besides, and gives what opens them
    on their base."""
    from transformers import AutoModelForSequenceClassification

    recipe = classifier.recipe
    assert recipe.adapter is not None, "runs without one are refused"
    assert isinstance(recipe.model, TransformersModel), "that is what such a recipe describes"
    require_peft()
    write_adapter(model, recipe.adapter, base=recipe.model.path, folder=folder)
    write_tokenizer(files, folder)
    (folder / OF_EXPORT).mkdir()
    (folder / TRAINED).write_text(render_recipe(public(recipe)), encoding="utf-8")
    (folder / OF_EXPORT / LABELS_FILE).write_text(
        json.dumps(classifier.labels.names, ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
    )
    return partial(
        opened_network,
        AutoModelForSequenceClassification,
        folder,
        bits=4 if recipe.adapter.quantize_base == "nf4" else 32,
        skipped=head_modules(model),
        **named_labels(classifier),
    )


def named_labels(classifier: Classifier) -> dict[str, Any]:
    """The labels as transformers writes them in config.json."""
    names = dict(enumerate(classifier.labels.names))
    return {"id2label": names, "label2id": {name: number for number, name in names.items()}}


@torch.inference_mode()
def compare(classifier: Classifier, folder: Path, open_network: Callable[[], Any]) -> LabelGate:
    """The probabilities of the trainer, whose adapter is beside its base, against those of transformers, each with its
    own tokenizer."""
    texts = texts_of(classifier)
    with quiet():
        network = open_network()
    tokenizer, ours = open_tokenizer(folder), classifier.reader.rows(texts)
    found, otherwise = [], 0
    for number, text in enumerate(texts):
        ids = tokenizer(text, truncation=True, max_length=classifier.reader.max_tokens)["input_ids"]
        otherwise += ids != ours.row(number).tolist()
        logits = network.float().eval()(input_ids=torch.tensor([ids])).logits
        found.append(logits[0].double().softmax(0).numpy())
    apart = np.abs(np.array(found) - classifier.probabilities(texts)).max()
    return LabelGate(len(texts), float(apart), otherwise)


def texts_of(classifier: Classifier) -> list[str]:
    """Texts of the validation sets, then of the corpora, in which there is something."""
    data, found = classifier.recipe.data, list[str]()
    for files in (*data.valid.values(), *data.train):
        for corpus in open_corpora([files], root=Path.cwd(), cache=default_cache()):
            pairs = (corpus.pair(number) for number in range(min(len(corpus), TEXTS)))
            found += [
                text
                for source, _ in pairs
                if (text := classifier.reader.pipeline.apply_source(source)).strip()
            ]
            if len(found) >= TEXTS:
                return found[:TEXTS]
    return found
