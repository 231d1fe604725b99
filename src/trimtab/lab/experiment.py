"""What an experiment says, in `experiments/NAME/experiment.yaml`, and where the experiments are."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import Field, field_validator, model_validator

from trimtab.config.load import placed, read_text_file
from trimtab.config.nearest import did_you_mean, nearest_words
from trimtab.config.places import Place
from trimtab.config.problems import complaints_about
from trimtab.config.read_yaml import read_yaml
from trimtab.config.settings import Settings, refused
from trimtab.errors import InputError, input_error
from trimtab.metrics.catalogue import MetricName, metric_of

FILE, SCALES = "experiment.yaml", "scales"
Expected = Literal["better", "worse", "same"]
Foreseen = Literal["confirmed", "refuted", "mixed", "no effect at this scale"]
RECIPE = "recipe"
"""Key of an arm that is no override: the scale that this arm starts from."""


class Measure(Settings):
    """What is compared between the arms: a score of each run's last evaluation."""

    metric: MetricName = "loss"
    """A metric of the recipe; `docs/recipe.md` lists under Metrics which value is best."""
    set: str = "valid"
    """The validation set."""
    failed: float
    """The score of a run that fails, such as one that diverges: a bad score, chosen before the first run."""

    @property
    def sign(self) -> int:
        """1 where more is better, -1 where less is."""
        return -1 if metric_of(self.metric).lower_is_better else 1


class Prediction(Settings):
    """What is expected of one arm beside another, and by how much a difference matters."""

    arm: str
    """The arm that the claim is about."""
    than: str
    """The arm that it is compared with."""
    expect: Expected
    """`better` or `worse` in the measure, or `same`: a difference within the margin."""
    margin: float = Field(gt=0)
    """The smallest difference of the measure that matters. An interval within it on both sides means no effect."""
    because: str = Field(default="", max_length=1000)
    """Why this is expected."""


class Experiment(Settings):
    """One question: runs that differ in one thing, and the rule that turns their scores into a verdict."""

    question: str = Field(min_length=1, max_length=300)
    """What the experiment asks, with a question mark."""
    claim: str = Field(min_length=1, max_length=500)
    """The sentence that the verdict judges."""
    sources: tuple[str, ...] = ()
    """Where the claim is made: papers, issues, documents."""
    tips: tuple[str, ...] = ()
    """Labels of the tips that it tests, such as `S0-79`, as rules carry them."""
    script: str | None = None
    """A Python file that measures what recipes cannot, relative to this folder. It writes its result, with claims, to a
    JSON file of its own name beside it; then there are no arms and predictions here."""
    scale: str = "small"
    """The recipe in `experiments/scales/` that all arms start from."""
    common: dict[str, Any] = Field(default={})
    """Overrides of that recipe for all arms, by dotted key."""
    arms: dict[str, dict[str, Any]] = Field(default={})
    """What the arms differ in: overrides by dotted key. The key `recipe` names another scale to start from."""
    measure: Measure | None = None
    """What is compared."""
    predictions: tuple[Prediction, ...] = ()
    """The expected results, committed before the first run. The verdict covers all of them."""
    foreseen: Foreseen | None = None
    """The verdict that its author expects, written with the predictions."""
    seeds: tuple[int, ...] = (1, 2, 3, 4, 5)
    """Each arm is trained once with each; the arms of a seed read the same data in the same order."""
    quick: dict[str, Any] = Field(default={})
    """Further overrides for `--scale tiny`, where a key of the arms does not suit so short a run. The key `recipe`
    names another scale to start from than `tiny`."""
    budget: str = ""
    """How much the whole experiment costs, in words."""

    @field_validator("seeds", mode="after")
    @classmethod
    def _seeds_differ(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if len(value) < 3 or len(set(value)) < len(value) or not all(0 <= seed < 10**9 for seed in value):
            raise refused(
                "",
                "too few different seeds to estimate the noise",
                got=str(list(value)),
                allowed="at least 3 different numbers from 0 to 999,999,999",
                fix="write [1, 2, 3, 4, 5]",
            )
        return value

    @model_validator(mode="after")
    def _arms_and_predictions(self) -> "Experiment":
        if self.script is not None:
            return self
        if len(self.arms) < 2 or not self.predictions or self.measure is None:
            raise refused(
                "arms" if len(self.arms) < 2 else "predictions" if not self.predictions else "measure",
                "missing, so there is nothing to compare",
                got=f"{len(self.arms)} arms, {len(self.predictions)} predictions",
                allowed="at least two arms, a measure and a prediction; or a `script`",
                fix="add it; the other experiments are examples",
            )
        for number, prediction in enumerate(self.predictions):
            for key in ("arm", "than"):
                name = getattr(prediction, key)
                if name not in self.arms:
                    raise refused(
                        f"predictions.{number}.{key}",
                        "no such arm",
                        got=name,
                        allowed=", ".join(self.arms),
                        fix=did_you_mean(nearest_words(name, [*self.arms])[:1]) or "name one of the arms",
                    )
            if prediction.arm == prediction.than:
                raise refused(
                    f"predictions.{number}.than",
                    "an arm compared with itself",
                    got=prediction.than,
                    allowed=", ".join(arm for arm in self.arms if arm != prediction.arm),
                    fix="name another arm",
                )
        return self

    @property
    def reference(self) -> str:
        """The arm whose spread is the noise floor: the one that the first prediction compares with."""
        return self.predictions[0].than


ROOT = Place(Experiment)


@dataclass(frozen=True, slots=True)
class Loaded:
    """An experiment and where it lies."""

    name: str
    folder: Path
    experiment: Experiment
    sha256: str
    """Of its text, which has to be the one that was there before the first run."""

    @property
    def scales(self) -> Path:
        """The folder with the recipes that arms start from."""
        return self.folder.parent / SCALES

    @property
    def result(self) -> Path:
        """Where its result is kept."""
        if self.experiment.script is not None:
            return (self.folder / self.experiment.script).with_suffix(".json").resolve()
        return self.folder / "result.json"


def names_in(folder: Path) -> list[str]:
    """The experiments of a folder, sorted. Raises InputError where there is none."""
    names = sorted(path.parent.name for path in folder.glob(f"*/{FILE}")) if folder.is_dir() else []
    if not names:
        raise input_error(
            f"{folder}: no experiments",
            got="a folder without them" if folder.is_dir() else "no such folder",
            allowed=f"a folder that contains NAME/{FILE}",
            fix="run it in the folder that contains `experiments/`, or pass --folder",
        )
    return names


def load_experiment(folder: Path, name: str) -> Loaded:
    """Reads and checks one; raises InputError with everything that is wrong with it."""
    names = names_in(folder)
    if name not in names:
        raise input_error(
            "no such experiment",
            got=name,
            allowed=f"those that `trimtab lab list` shows, {len(names)} of them",
            fix=did_you_mean(nearest_words(name, names, cutoff=0.5)[:2]) or f"such as {names[0]}",
        )
    path = folder / name / FILE
    text = read_text_file(path, wanted="description of an experiment")
    read = read_yaml(text, name=str(path))
    whole: Any = read.value
    if not isinstance(whole, Mapping):
        raise input_error(
            "not an experiment",
            got=type(whole).__name__,
            allowed="`key: value` lines",
            fix="begin with another experiment's file",
            where=f"{path}:1:1",
        )
    value = cast("Mapping[str, Any]", whole)
    if found := complaints_about(value, root=ROOT):
        raise InputError(*placed(found, str(path), read.positions, {}))
    experiment = Experiment.model_validate(value)
    return Loaded(name, folder / name, experiment, sha256(text.encode()).hexdigest())
