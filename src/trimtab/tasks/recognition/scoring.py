"""How well a recognizer reads a list of images: error rates, and which characters it takes for which."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trimtab.config.corpora import ValidFiles
from trimtab.errors import input_error
from trimtab.metrics.catalogue import OF_READINGS
from trimtab.metrics.metric import Readings
from trimtab.tasks.images.sources import open_images
from trimtab.tasks.recognition.recognizer import Recognizer

MOST_SHOWN = 15
"""Rows of the table of confusions, and lines that are shown."""
NOTHING = ""
"""In place of a character that was left out or invented."""


@dataclass(frozen=True, slots=True)
class Confusion:
    """One character that was read as another."""

    written: str
    """What the reference has; empty where the character was invented."""
    read: str
    """What was read; empty where the character was left out."""
    count: int


@dataclass(frozen=True, slots=True)
class ListScore:
    """The scores of a list."""

    scores: dict[str, float]
    images: int
    unreadable: list[str]
    """Paths of images that could not be opened; they count as read without a character."""
    confusions: list[Confusion]
    """The most frequent first."""
    worst: list[tuple[str, str, str]]
    """Path, reference and reading of lines with errors, those with the most first."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            **self.scores,
            "images": self.images,
            "unreadable": self.unreadable,
            "confusions": [[each.written, each.read, each.count] for each in self.confusions],
            "worst": [{"image": path, "reference": one, "output": other} for path, one, other in self.worst],
        }

    def render(self) -> str:
        """Lines for people."""
        shown = [f"{OF_READINGS[name].label} {value:.4f}" for name, value in self.scores.items()]
        lines = [f"{self.images:,} images: {'  '.join(shown)}"]
        lines += [f"could not be opened, and counts as empty: {path}" for path in self.unreadable]
        if self.confusions:
            lines += ["", "written  read     times"]
            lines += [
                f"{_shown(each.written):<9}{_shown(each.read):<9}{each.count:,}"
                for each in self.confusions[:MOST_SHOWN]
            ]
        for path, reference, output in self.worst[:MOST_SHOWN]:
            lines += ["", path, f"  written  {reference}", f"  read     {output}"]
        return "\n".join(lines)


def score_list(recognizer: Recognizer, lists: Sequence[Path]) -> ListScore:
    """The scores of a list of images with their texts; InputError for anything else. Nothing is left out of it."""
    if len(lists) != 1:
        raise input_error(
            "IMAGE: --score takes one list of images with their texts",
            got=f"{len(lists)} paths",
            allowed="a .tsv, .jsonl, labels.json, or a folder with such a list or with .gt.txt files",
            fix="name the list alone",
        )
    files = ValidFiles.model_validate({"images": str(lists[0])})
    corpus = open_images(files, key="IMAGE", seed=1, normalization=recognizer.charset.normalization)
    pairs = [corpus.pair(line) for line in range(len(corpus))]
    found = list(recognizer.recognize(path for path, _ in pairs))
    references = [recognizer.charset.normalize(text) for _, text in pairs]
    outputs = [each.text for each in found]
    given = Readings(outputs=outputs, references=references)
    rows = [(path, *both) for (path, _), *both in zip(pairs, references, outputs, strict=True)]
    wrong = [row for row in rows if row[1] != row[2]]
    wrong.sort(key=lambda row: -sum(found_in(row[1], row[2]).values()))
    return ListScore(
        scores={name: round(metric.compute(given), 6) for name, metric in OF_READINGS.items()},
        images=len(pairs),
        unreadable=[f"{each.image}: {each.error}" for each in found if each.error],
        confusions=confusions(references, outputs),
        worst=wrong[:MOST_SHOWN],
    )


def confusions(references: Sequence[str], outputs: Sequence[str]) -> list[Confusion]:
    """Which characters were taken for which, over all lines, the most frequent first."""
    counts = Counter[tuple[str, str]]()
    for pair in zip(references, outputs, strict=True):
        counts += found_in(*pair)
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    return [Confusion(*pair, count) for pair, count in ordered]


def found_in(reference: str, output: str) -> Counter[tuple[str, str]]:
    """The edits of a shortest alignment (Wagner and Fischer 1974): pairs of what is written and what was read."""
    if reference == output:
        return Counter()
    rows = [[*range(len(output) + 1)]]
    for number, one in enumerate(reference, 1):
        before, row = rows[-1], [number]
        for place, other in enumerate(output, 1):
            row.append(min(before[place - 1] + (one != other), before[place] + 1, row[-1] + 1))
        rows.append(row)
    edits, i, j = Counter[tuple[str, str]](), len(reference), len(output)
    while i or j:
        here = rows[i][j]
        if i and j and here == rows[i - 1][j - 1] + (reference[i - 1] != output[j - 1]):
            i, j = i - 1, j - 1
            if reference[i] != output[j]:
                edits[reference[i], output[j]] += 1
        elif i and here == rows[i - 1][j] + 1:
            i -= 1
            edits[reference[i], NOTHING] += 1
        else:
            j -= 1
            edits[NOTHING, output[j]] += 1
    return edits


def _shown(character: str) -> str:
    if not character:
        return "nothing"
    return "space" if character == " " else character if character.isprintable() else repr(character)[1:-1]
