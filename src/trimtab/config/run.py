"""The whole recipe: one frozen tree, one branch a stage."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from trimtab.config.data import DataConfig
from trimtab.config.decoder_model import DecoderModel
from trimtab.config.encoder_model import EncoderModel
from trimtab.config.export_targets import ExportTarget
from trimtab.config.guard import GuardConfig
from trimtab.config.loss import LossConfig
from trimtab.config.model import EncoderDecoderModel
from trimtab.config.settings import Settings, refused
from trimtab.config.step import StepConfig
from trimtab.config.task_facts import Task, TaskFacts, facts_of, with_task_defaults
from trimtab.metrics.catalogue import MetricName
from trimtab.units import Duration

Weights = Literal["raw", "ema"]
"""As they were trained, or their moving average (`step.ema`)."""

Model = Annotated[EncoderDecoderModel | DecoderModel | EncoderModel, Field(discriminator="kind")]


class Best(Settings):
    """Which evaluation chooses the best checkpoint."""

    set: str | None = None
    """Name of a validation set; by default the first."""
    metric: MetricName = "chrf"
    """The score that is compared; which value of it is best is said under Metrics in `docs/recipe.md`. For language
    models the default is `loss`."""


class EvaluateConfig(Settings):
    """When and how the validation sets are scored."""

    every: Duration = Duration(500, "steps")
    """How often; there is one at the end in any case. In a run of fewer than 500 steps the default is a tenth of it."""
    metrics: tuple[MetricName, ...] = ("bleu", "chrf")
    """`loss` is always measured. For metrics of translations the validation sets are translated. Those of language
    models follow from the loss and are their default; only the ones per byte compare models of different tokenizers.
    Each is described under Metrics in `docs/recipe.md`."""
    beam: int = Field(default=1, ge=1, le=64)
    """Beam size for these translations; 1 is greedy."""
    lines: int | None = Field(default=500, ge=1)
    """Translate at most so many lines of each set, spread evenly; null takes all."""
    samples: int = Field(default=5, ge=0, le=100)
    """Lines of the first set whose translations go to `samples.jsonl`."""
    best: Best = Best()
    """What the best checkpoint is chosen by."""
    weights: Weights = "raw"
    """What is scored, and what `RUN`, `RUN@last` and `RUN@500` then mean: the weights as they are trained, or their
    moving average (`step.ema`). The other is `RUN@500:raw` or `RUN@500:ema`."""
    patience: int | None = Field(default=None, ge=1)
    """Stop after so many evaluations in a row without a new best."""


class CheckpointConfig(Settings):
    """When the run is saved."""

    every: Duration = Duration(500, "steps")
    """How often; there is one at the end in any case."""
    keep: int = Field(default=3, ge=1)
    """Newest checkpoints kept; besides, the best one, for an older checkpoint that of its time, and one that the run
    can go back to (`guard.rewinds`)."""


class Recipe(Settings):
    """The whole run."""

    usual_kinds: ClassVar[Mapping[str, str]] = MappingProxyType({"model": "encoder_decoder"})

    task: Task = "translation"
    """What is learned: to translate a source, to go on with a text, or which label a text has. A language model has
    `model: {kind: decoder}`, reads corpora given as `text`, and parallel ones as rows of source and target; its
    defaults differ for `loss.label_smoothing` (0), `data.tokenizer.normalization` (identity) and the metrics of
    `evaluate`. With `classification` the model is `{kind: encoder}`, `source` names the texts and `target` their
    labels, and each example is one target: the defaults are `step.tokens_per_step: 256`, which are examples,
    `loss.label_smoothing: 0` and the metrics of labels."""
    data: DataConfig
    """What is read, and how text becomes ids."""
    model: Model
    """The shape of the model: of an encoder-decoder, of a decoder alone for language models, or of an encoder alone for
    classification."""
    loss: LossConfig = LossConfig()
    """What is minimised."""
    step: StepConfig = StepConfig()
    """How one update is made."""
    guard: GuardConfig = GuardConfig()
    """Which steps are refused, and what happens where many are."""
    length: Duration
    """How long to train."""
    evaluate: EvaluateConfig = EvaluateConfig()
    """When and how the validation sets are scored."""
    checkpoint: CheckpointConfig = CheckpointConfig()
    """When the run is saved."""
    export: tuple[ExportTarget, ...] = ()
    """What the model is meant for later, such as `[ctranslate2]`: a recipe that could not be exported for it is refused
    before training. `trimtab export` writes the export itself, and takes any target."""
    seed: int = Field(default=1, ge=0, lt=2**63)
    """Of the first weights, the order of examples, dropout and everything else that is drawn."""

    @model_validator(mode="before")
    @classmethod
    def _defaults_of_the_task(cls, value: Any) -> Any:
        return with_task_defaults(value)

    @property
    def facts(self) -> TaskFacts:
        """What the task decides of the rest."""
        return facts_of(self.task)

    @property
    def is_language_model(self) -> bool:
        """Whether texts are gone on with, rather than translated."""
        return self.task == "language_model"

    @property
    def translates(self) -> bool:
        """Whether translating is learned: a language model can do it too, where it has corpora with two sides."""
        if self.is_language_model:
            return any(corpus.text is None for corpus in self.data.train)
        return self.facts.writes_text

    @property
    def reads_texts(self) -> bool:
        """Whether a language model learns to go on from texts, and not only from the sources of pairs."""
        return self.is_language_model and any(corpus.text is not None for corpus in self.data.train)

    @field_validator("export", mode="after")
    @classmethod
    def _each_target_once(cls, value: tuple[ExportTarget, ...]) -> tuple[ExportTarget, ...]:
        different = tuple(dict.fromkeys(value))
        if different != value:
            twice = ", ".join(each for each in different if value.count(each) > 1)
            raise refused(
                "",
                f"{twice} stands there more than once",
                got=f"[{', '.join(value)}]",
                allowed="each target once",
                fix=f"write [{', '.join(different)}]",
            )
        return value

    @field_validator("length", mode="after")
    @classmethod
    def _at_least_a_step(cls, value: Duration) -> Duration:
        if value.unit == "steps" and value.count < 1:
            raise ValueError(f"got {value}; allowed is at least one step")
        return value
