"""`trimtab export --to hf` of a classifier with a pretrained encoder: a folder that transformers opens, proven on real
texts."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from trimtab.checkpoint.run_folder import RunFolder
from trimtab.data.cache import default_cache
from trimtab.data.corpus import open_corpora
from trimtab.data.stored_sides import FILES
from trimtab.errors import RunFailed, input_error
from trimtab.export.draft import check_place, draft_folder
from trimtab.export.hf.library import open_tokenizer, quiet
from trimtab.export.hf.module import copy_kept_files, write_config, write_network
from trimtab.export.quantized import Quantized
from trimtab.export.target import Target
from trimtab.export.write_export import GivenText
from trimtab.model.module.classifier import ModuleClassifier
from trimtab.tasks.classification.classifier import Classifier, load_classifier

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


@dataclass(frozen=True, slots=True)
class LabelExport:
    """A folder that was written."""

    folder: Path
    target: str
    step: int
    gate: LabelGate

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {**asdict(self), "folder": str(self.folder), "gate": self.gate.to_dict()}

    def render(self) -> str:
        """Lines for people."""
        return f"{self.folder}: step {self.step} for {self.target}, as exact as the trainer\n{self.gate.render()}"


def export_classifier(
    run: Path | str, target: Target, out: Path, *, given: GivenText, quantized: Quantized
) -> LabelExport:
    """See `Task.export`: probabilities must be within 1e-5 of the trainer's on texts of the run's own sets. Only
    classifiers with a pretrained encoder have a class in transformers, and only `hf` writes it."""
    classifier = load_classifier(run, device="cpu")
    model = classifier.model
    if target.name != "hf" or not isinstance(model, ModuleClassifier):
        raise input_error(
            f"export: {run} is a classifier",
            got=f"--to {target.name}, of a model of the kind {classifier.recipe.model.kind}",
            allowed="--to hf, of a classifier with a pretrained encoder",
            fix="label texts with `trimtab classify RUN`",
        )
    if given != GivenText():
        raise input_error(
            "export: a classifier is compared on texts of its own sets",
            got="text of your own, or tags",
            allowed="neither",
            fix="leave --source, --reference and --tag out",
        )
    check_place(out, run=classifier.checkpoint.run)
    with draft_folder(out) as draft:
        files = RunFolder(classifier.checkpoint.run).tokenizer / FILES
        copy_kept_files(files, draft)
        write_network(model.network, draft)
        names = dict(enumerate(classifier.labels.names))
        write_config(
            files,
            draft,
            architectures=[type(model.network).__name__],
            id2label=names,
            label2id={name: number for number, name in names.items()},
            problem_type="single_label_classification",
        )
        gate = compare(classifier, draft)
        if not gate.passed:
            raise RunFailed(f"the export differs from the trainer; nothing was written\n{gate.render()}")
        text = json.dumps(gate.to_dict(), indent=2) + "\n"
        (draft / "gate.json").write_text(text, encoding="utf-8")
    return LabelExport(out, target.name, classifier.checkpoint.step, gate)


@torch.inference_mode()
def compare(classifier: Classifier, folder: Path) -> LabelGate:
    """The probabilities of the trainer against those of transformers, each with its own tokenizer."""
    from transformers import AutoModelForSequenceClassification

    texts = texts_of(classifier)
    with quiet():
        network = AutoModelForSequenceClassification.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False, use_safetensors=True
        )
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
