"""The specification of a metric: its names, display, direction and computation.

Recipes name metrics and are read without torch, so that nothing here imports a heavy library; a computation that needs
one imports it when it runs.
"""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from trimtab.errors import input_error

BleuTokenizer = Literal["13a", "intl", "char", "zh", "ja-mecab", "ko-mecab", "none"]
"""sacreBLEU's: `13a` and `intl` where spaces separate words; `zh`, `ja-mecab`, `ko-mecab`; `char` for any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A number with its name and how it was computed."""

    name: str
    """For people, such as BLEU."""
    value: float
    """BLEU and chrF: 0 to 100, larger is better. TER: edits for a hundred words of the reference, smaller is better.
    COMET: about 0 to 1, larger is better."""
    signature: str
    digits: int = 1
    """Behind the point, where people read it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSettings:
    """What single metrics can be set to."""

    bleu_tokenizer: BleuTokenizer = "13a"
    """How BLEU cuts words; languages without spaces need a tokenizer of their own."""
    comet_model: str = ""
    """The COMET model: a checkpoint file, the folder of a model, or a name on the hub."""
    gpus: int = 0
    """How many GPUs COMET may use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Translations:
    """Translated lines, with what they are scored against."""

    outputs: Sequence[str]
    references: Sequence[str]
    sources: Sequence[str]
    settings: MetricSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Nats:
    """The loss of a text, which the metrics of language models follow from."""

    per_token: float
    """Per target token."""
    per_byte: float
    """Those of all tokens, end symbols included, divided by the bytes of the text in UTF-8, which end symbols have none
    of. NaN where there is no text."""

    @classmethod
    def of(cls, loss: float, *, num_targets: int, num_bytes: int) -> "Nats":
        """From the nats per target token, the number of target tokens and the number of bytes."""
        return cls(per_token=loss, per_byte=loss * num_targets / num_bytes if num_bytes else math.nan)


MetricGroup = Literal["texts", "translations", "labels", "readings", "boxes"]
"""What metrics are of: texts by their loss, translations beside their references, labels beside the true ones,
texts that were read beside what is written, boxes that were predicted beside objects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LossMetric:
    """A metric that follows from the loss; nothing is translated for it."""

    group: ClassVar[MetricGroup] = "texts"
    measures: ClassVar[str] = "a metric of language models"

    name: str
    """In recipes, logs and JSON."""
    label: str
    """For people."""
    about: str
    """What it is, in a phrase; exports write it beside the value."""
    compute: Callable[[Nats], float]
    digits: int
    """Behind the point, in the short lines of a run."""
    fine_digits: int
    """Behind the point, where models are compared."""
    lower_is_better: bool = True
    of_texts: bool = True
    """Whether it is a metric of language models alone."""
    brief: bool = True
    """Whether short lines and tables show it too, and not only logs and JSON."""
    phrase: str = "{} {}"
    """The label and a value in a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslationMetric:
    """A metric of translations beside their references."""

    group: ClassVar[MetricGroup] = "translations"
    measures: ClassVar[str] = "a metric of translations"

    name: str
    """In recipes, logs and JSON."""
    label: str
    """For people."""
    about: str
    """What it is, in a phrase."""
    compute: Callable[[Translations], Score]
    """Raises InputError on unequal or empty sets."""
    check: Callable[[MetricSettings], object] = lambda _: None
    """Raises InputError if a library that it needs is missing, before anything is translated."""
    sacrebleu_metric: Callable[[MetricSettings], Any] | None = None
    """sacreBLEU's metric, whose significance tests resample it; None where it is not sacreBLEU's."""
    digits: int = 1
    """Behind the point, in the short lines of a run."""
    fine_digits: int = 2
    """Behind the point, where models are compared."""
    lower_is_better: bool = False
    brief: bool = True
    """Whether short lines and tables show it too, and not only logs and JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenLabels:
    """The labels that examples were given, beside those that they have; labels are numbers."""

    predicted: Sequence[int]
    true: Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelMetric:
    """A metric of labels that examples were given."""

    group: ClassVar[MetricGroup] = "labels"
    measures: ClassVar[str] = "a metric of classifiers"

    name: str
    """In recipes, logs and JSON."""
    label: str
    """For people."""
    about: str
    """What it is, in a phrase."""
    compute: Callable[[GivenLabels], float]
    digits: int = 4
    """Behind the point, in the short lines of a run."""
    fine_digits: int = 4
    """Behind the point, where models are compared."""
    lower_is_better: bool = False
    brief: bool = True
    """Whether short lines and tables show it too, and not only logs and JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Readings:
    """What was read in images, beside what they say."""

    outputs: Sequence[str]
    references: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingMetric:
    """A metric of texts that were read in images."""

    group: ClassVar[MetricGroup] = "readings"
    measures: ClassVar[str] = "a metric of texts that are read in images"

    name: str
    """In recipes, logs and JSON."""
    label: str
    """For people."""
    about: str
    """What it is, in a phrase."""
    compute: Callable[[Readings], float]
    digits: int = 4
    """Behind the point, in the short lines of a run."""
    fine_digits: int = 4
    """Behind the point, where models are compared."""
    lower_is_better: bool = True
    brief: bool = True
    """Whether short lines and tables show it too, and not only logs and JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxScores:
    """What an evaluation of a detector counted; NaN where there is nothing to count."""

    ap: float
    ap50: float
    ap75: float
    ap_nms: float
    ap50_nms: float
    precision50: float
    recall50: float
    precision50_nms: float
    recall50_nms: float
    predictions_per_object: float
    predictions_per_object_nms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxMetric:
    """A metric of boxes that were predicted."""

    group: ClassVar[MetricGroup] = "boxes"
    measures: ClassVar[str] = "a metric of boxes that are found in images"

    name: str
    """In recipes, logs and JSON."""
    label: str
    """For people."""
    about: str
    """What it is, in a phrase."""
    compute: Callable[[BoxScores], float]
    digits: int = 4
    """Behind the point, in the short lines of a run."""
    fine_digits: int = 4
    """Behind the point, where models are compared."""
    lower_is_better: bool = False
    brief: bool = True
    """Whether short lines and tables show it too, and not only logs and JSON."""


Metric = LossMetric | TranslationMetric | LabelMetric | ReadingMetric | BoxMetric


def edit_distance(one: Sequence[Hashable], other: Sequence[Hashable]) -> int:
    """The smallest number of insertions, deletions and substitutions that make one sequence the other (Levenshtein
    1966), by the bit-parallel algorithm of Hyyrö 2003, figure 2, whose words are Python's whole numbers."""
    if not one or not other:
        return len(one) + len(other)
    places: dict[Hashable, int] = {}
    for number, item in enumerate(one):
        places[item] = places.get(item, 0) | 1 << number
    full, last = (1 << len(one)) - 1, 1 << (len(one) - 1)
    up, down, distance = full, 0, len(one)
    for item in other:
        match = places.get(item, 0)
        diagonal = (((match & up) + up) ^ up) | match | down
        right, left = down | ~(diagonal | up) & full, up & diagonal
        distance += bool(right & last) - bool(left & last)
        right, left = right << 1 | 1, left << 1
        up, down = (left | ~(diagonal | right)) & full, right & diagonal & full
    return distance


def check_aligned(translations: Sequence[str], references: Sequence[str]) -> None:
    """Raises InputError on sets that are unequal or empty."""
    if len(translations) != len(references):
        raise input_error(
            "references: not as many lines as translations",
            got=f"{len(translations)} translations and {len(references)} references",
            allowed="one reference for each line",
            fix="check that both files come from the same set and that neither was filtered alone",
        )
    if not references:
        raise input_error("references: the set is empty", got="0 lines", allowed="at least one line")
