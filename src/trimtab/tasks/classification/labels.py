"""The labels of a run: read from its training data once, then kept in its folder."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from trimtab.checkpoint.durable import replace_file
from trimtab.data.corpus import Corpus
from trimtab.errors import InputError, Problem, input_error, reading

LABELS_FILE = "labels.json"
SHOWN = 12
"""Labels that a message lists."""


@dataclass(frozen=True, slots=True)
class Labels:
    """All labels, sorted; the place of each is its number."""

    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.names)

    @property
    def numbers(self) -> dict[str, int]:
        """The number of each label."""
        return {name: number for number, name in enumerate(self.names)}

    @property
    def fingerprint(self) -> str:
        """sha256 of the labels in their order: weights mean nothing with other ones."""
        return hashlib.sha256(json.dumps(self.names).encode()).hexdigest()

    def shown(self) -> str:
        """The first few in words."""
        more = f" and {len(self.names) - SHOWN:,} more" if len(self.names) > SHOWN else ""
        return ", ".join(self.names[:SHOWN]) + more


def label_of(target: str) -> str:
    """A label as it is written in a corpus, without the spaces around it."""
    return target.strip()


def prepare_labels(corpora: Sequence[Corpus], *, folder: Path) -> Labels:
    """The labels in a run's folder, or those of the corpora, which are then written there.

    Raises InputError if the file is damaged, where the corpora have a label that is not in it, and where there are
    fewer than two labels.
    """
    path = folder / LABELS_FILE
    if path.exists():
        labels = load_labels(folder)
        for number, corpus in enumerate(corpora):
            _check_known(corpus, labels, key=f"data.train.{number}")
        return labels
    found = {label for corpus in corpora for label in labels_in(corpus)} - {""}
    if len(found) < 2:
        raise input_error(
            "data.train: a classifier needs at least two labels",
            got=f"{len(found)} label{'' if len(found) == 1 else 's'}: {', '.join(sorted(found)) or 'none'}",
            allowed="at least 2 different labels as `target`",
            fix="check that `target` names the labels and `source` the texts",
        )
    labels = Labels(tuple(sorted(found)))
    folder.mkdir(parents=True, exist_ok=True)
    replace_file(path, (json.dumps(labels.names, ensure_ascii=False, indent=1) + "\n").encode())
    return labels


def load_labels(folder: Path) -> Labels:
    """The labels in a run's folder; InputError if they are missing or damaged."""
    path = folder / LABELS_FILE
    with reading(path):
        text = path.read_text(encoding="utf-8")
    try:
        names = json.loads(text)
    except ValueError:
        names = None
    if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
        raise input_error(
            f"{path}: no list of labels",
            got=text[:60],
            allowed="a JSON list of texts",
            fix="restore the file of this run",
        )
    return Labels(tuple(names))


def _check_known(corpus: Corpus, labels: Labels, *, key: str) -> None:
    known = {*labels.names, ""}
    for line, label in enumerate(labels_in(corpus)):
        if label not in known:
            raise input_error(
                f"{key}: {corpus.place(line)}: a label unknown to this run",
                got=repr(label),
                allowed=labels.shown(),
                fix="restore the data as it was when the run began, or start a new run with another --out",
            )


def labels_in(corpus: Corpus) -> Iterator[str]:
    """The label of each line, in order."""
    return (label_of(target) for _, target in corpus.several(range(len(corpus))))


def numbered(corpus: Corpus, labels: Labels, *, key: str) -> list[int]:
    """The number of the label of each line of a set that is not trained on.

    Raises InputError with each label that the training data does not have, and where it is first.
    """
    numbers = labels.numbers
    found, unknown = [], dict[str, int]()
    for line, label in enumerate(labels_in(corpus)):
        found.append(numbers.get(label, -1))
        if label not in numbers:
            unknown.setdefault(label, line)
    if unknown:
        raise InputError(
            *(
                Problem(
                    what=f"{key}: {corpus.place(line)}: a label that the training data does not have",
                    got=repr(label),
                    allowed=labels.shown(),
                    fix="correct it, remove the line, or add examples with this label to data.train",
                )
                for label, line in unknown.items()
            )
        )
    return found
