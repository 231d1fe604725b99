"""The whole recipe: one frozen tree, one branch a stage."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from trimtab.config.adapter import LoraAdapter
from trimtab.config.autoencoder_model import AutoencoderModel
from trimtab.config.data import DataConfig
from trimtab.config.decoder_model import DecoderModel
from trimtab.config.detector_model import DetectorModel
from trimtab.config.diffusion_model import DiffusionModel
from trimtab.config.encoder_model import EncoderModel
from trimtab.config.export_targets import ExportTarget
from trimtab.config.freezing import Frozen, stages_of
from trimtab.config.guard import GuardConfig
from trimtab.config.image_classifier_model import ImageClassifierModel
from trimtab.config.loss import LossConfig
from trimtab.config.model import EncoderDecoderModel
from trimtab.config.modular_data import with_direction_defaults
from trimtab.config.modular_model import ModularModel
from trimtab.config.parallel import DataParallel, Parallel
from trimtab.config.pretrained_model import PretrainedModel
from trimtab.config.settings import Settings, refused
from trimtab.config.step import StepConfig
from trimtab.config.task_facts import facts_of, with_task_defaults
from trimtab.config.task_record import Task, TaskFacts
from trimtab.config.trackers import TrackerName
from trimtab.config.transformers_model import TransformersModel
from trimtab.config.trocr_model import TrOCRModel
from trimtab.config.vision_model import VisionModel
from trimtab.config.x_transformers_model import XTransformersModel
from trimtab.metrics.catalogue import MetricName
from trimtab.units import Duration

Weights = Literal["raw", "ema"]
"""As they were trained, or their moving average (`step.ema`)."""

POSITIONS_MULTIPLE = 64
"""Tables of positions have a multiple of this many rows."""

Model = Annotated[
    EncoderDecoderModel
    | ModularModel
    | DecoderModel
    | PretrainedModel
    | TransformersModel
    | TrOCRModel
    | XTransformersModel
    | EncoderModel
    | ImageClassifierModel
    | VisionModel
    | DetectorModel
    | DiffusionModel
    | AutoencoderModel,
    Field(discriminator="kind"),
]


class Best(Settings):
    """Which evaluation chooses the best checkpoint."""

    set: str | None = None
    """Name of a validation set; by default the first."""
    metric: MetricName = "chrf"
    """The score to compare; `docs/recipe.md` lists under Metrics which value is best. For language models the default
    is `loss`."""


class StopOn(Settings):
    """Which metrics `evaluate.patience` watches."""

    any: tuple[MetricName, ...] = ()
    """Stop when one of these metrics has had no new best for `evaluate.patience` evaluations."""
    all: tuple[MetricName, ...] = ()
    """Stop when each of these metrics has had no new best for so long."""

    @model_validator(mode="after")
    def _one_of_both(self) -> "StopOn":
        if bool(self.any) == bool(self.all):
            raise refused(
                "",
                "names metrics under both `any` and `all`" if self.any else "names no metric",
                got="both" if self.any else "neither `any` nor `all`",
                allowed="a list of metrics under `any` or under `all`",
                fix="write `{all: [chrf, loss]}`, or leave it out to watch evaluate.best.metric alone",
            )
        return self

    @property
    def metrics(self) -> tuple[MetricName, ...]:
        """Those of either list."""
        return self.any or self.all


class EvaluateConfig(Settings):
    """When and how the validation sets are scored."""

    every: Duration = Duration(500, "steps")
    """How often; the run always ends with one. In a run of fewer than 500 steps the default is a tenth of the run."""
    metrics: tuple[MetricName, ...] = ("bleu", "chrf")
    """`loss` is always measured. Translation metrics translate the validation sets. Metrics of language models are
    derived from the loss and are their default; only those per byte are comparable across tokenizers. `docs/recipe.md`
    describes each under Metrics."""
    beam: int = Field(default=1, ge=1, le=64)
    """Beam size for these translations; 1 is greedy."""
    lines: int | None = Field(default=500, ge=1)
    """Translate at most this many lines of each set, spread evenly; null translates all."""
    samples: int = Field(default=5, ge=0, le=100)
    """Number of lines of the first set whose translations go to `samples.jsonl`."""
    best: Best = Best.defaults()
    """How to choose the best checkpoint."""
    weights: Weights = "raw"
    """Which weights to evaluate, and what `RUN`, `RUN@last` and `RUN@500` mean: the trained weights, or their moving
    average (`step.ema`). The others are then `RUN@500:raw` or `RUN@500:ema`."""
    patience: int | None = Field(default=None, ge=1)
    """Stop after this many evaluations in a row without a new best. Those in the warmup do not count, nor those before
    the metric has moved at all; of equal scores the one with the lower loss is the better."""
    stop_on: StopOn | None = None
    """Which metrics have to be without a new best for `patience` to end the run: `{all: [chrf, loss]}` for each of
    them, `{any: [chrf, loss]}` for one of them; by default `evaluate.best.metric`. They are those of the set that
    `evaluate.best` names."""


class CheckpointConfig(Settings):
    """When the run is saved."""

    every: Duration = Duration(500, "steps")
    """How often; the run always ends with one."""
    write: bool = True
    """Whether there are checkpoints at all. Without them a run measures memory, speed and loss, and leaves no model and
    nothing to resume from."""
    keep: int = Field(default=3, ge=1)
    """Number of newest checkpoints to keep. The run also keeps the best one, the best one known to an older checkpoint,
    and one to roll back to (`guard.rewinds`)."""


class Recipe(Settings):
    """The whole run."""

    usual_kinds: ClassVar[Mapping[str, str]] = MappingProxyType({"model": "encoder_decoder"})

    task: Task = "translation"
    """What to train: a translation model, a language model, a classifier of texts, a classifier of images, a model that
    reads lines of text in images (`recognition`), finds objects in images (`detection`), or makes images (`diffusion`).
    A language model has `model: {kind: decoder}` and reads `text` corpora, or parallel ones as rows of source and
    target. Its defaults differ for `loss.label_smoothing` (0), `data.tokenizer.normalization` (identity) and the
    metrics of `evaluate`. With `classification` the model is `{kind: encoder}`, `source` names the texts and `target`
    their labels, and each example is one target: the defaults are `step.tokens_per_step: 256`, which are examples,
    `loss.label_smoothing: 0` and the metrics of labels. With `image_classification` the model is `{kind:
    image_classifier}` and corpora are `images` in folders by class or with labels. With `recognition` the model is
    `{kind: vision}`, corpora are `images` or a `text` with `render`, and targets are characters and the end of each
    line. With `detection` the model is `{kind: detector}`, corpora are `boxes`, `step.tokens_per_step` counts images
    (16 by default), and the loss is divided by the boxes of the step. With `diffusion` the model is `{kind:
    diffusion_transformer}`, or an `{kind: autoencoder}` for one; corpora are `images` in folders by class or with
    labels, each image is one target, and a moving average of the weights is kept and evaluated by default
    (`step.ema`)."""
    data: DataConfig
    """What to read, and how text becomes ids."""
    model: Model
    """The architecture: an encoder-decoder, a decoder for language models, an encoder for classification, a vision
    transformer for recognition, a detector, a diffusion transformer, or for the tasks on text a pretrained model."""
    adapter: LoraAdapter | None = None
    """Train an adapter beside frozen weights of a pretrained model, or of the run that `model.warm_start` names:
    `adapter: {kind: lora, rank: 16}`. By default all weights are trained."""
    freeze: tuple[Frozen, ...] = ()
    """Weights that keep the values that they begin with, by patterns over their names: `[embedding.weight,
    "decoder.blocks.[0-5].*"]`, or `["encoder.*"]`. They need no gradient and no optimizer state. `{weights: [...],
    until: 200 steps}` in place of a pattern freezes weights for the first steps alone (gradual unfreezing). Only for a
    model that begins with trained weights, and without `adapter`, which freezes the model by itself."""
    reinitialize: tuple[str, ...] = ()
    """Weights that begin with new random values in a model that begins with trained ones, by patterns over their names:
    a last layer that is to be replaced, or the upper layers of an encoder before it is fine-tuned on few examples
    (Zhang et al. 2021, arXiv 2006.05987, section 5). They are those that the model would have without trained weights,
    and follow from `seed`. Not with `adapter`, which keeps the model as it is."""
    loss: LossConfig = LossConfig.defaults()
    """The loss to minimize."""
    step: StepConfig = StepConfig.defaults()
    """How one update works."""
    parallel: Parallel = DataParallel.defaults()
    """How several processes, started by torchrun, train together; no effect with one process."""
    guard: GuardConfig = GuardConfig.defaults()
    """Which steps to skip, and what to do if there are many."""
    length: Duration
    """How long to train."""
    evaluate: EvaluateConfig = EvaluateConfig.defaults()
    """When and how the validation sets are scored."""
    checkpoint: CheckpointConfig = CheckpointConfig.defaults()
    """When the run is saved."""
    export: tuple[ExportTarget, ...] = ()
    """Formats to export to later, such as `[ctranslate2]`: trimtab refuses a recipe that could not be exported to them
    before it trains. `trimtab export` writes the export and accepts any format."""
    log: tuple[TrackerName, ...] = ()
    """Experiment trackers that also get the metrics of the run, from `[tensorboard, wandb, mlflow, trackio]`. Each
    needs its own package and reads its own environment variables. A resumed run continues as the same run there, and a
    failing tracker does not stop it (`docs/how_to/trackers.md`)."""
    seed: int = Field(default=1, ge=0, lt=2**63)
    """Seed of the initial weights, the order of examples, dropout and all other random numbers."""

    @model_validator(mode="before")
    @classmethod
    def _defaults_of_the_task(cls, value: Any) -> Any:
        return with_direction_defaults(with_task_defaults(value))

    @property
    def facts(self) -> TaskFacts:
        """What the task decides of the rest."""
        return facts_of(self.task)

    @property
    def max_positions(self) -> int:
        """Rows of the tables of positions: `data.max_tokens` and the greatest `step.position_shift`, rounded up."""
        longest = self.data.max_tokens + (self.step.position_shift or 0)
        return -(-longest // POSITIONS_MULTIPLE) * POSITIONS_MULTIPLE

    @property
    def data_seed(self) -> int:
        """Seed of the order of the data."""
        return self.seed if self.data.seed is None else self.data.seed

    @property
    def last_unfreezing(self) -> int:
        """Steps after which all weights that are ever trained are; 0 where that is so from the start."""
        return max((int(each.until.count) for each in stages_of(self.freeze)), default=0)

    @property
    def begins_trained(self) -> bool:
        """Whether the first weights are those of another run or of a pretrained model."""
        return bool(self.model.pretrained_path) or self.model.warm_start is not None

    @property
    def translates(self) -> bool:
        """Whether translating is learned: a language model can do it too, where it has corpora with two sides."""
        if self.facts.continues_texts:
            return any(corpus.text is None for corpus in self.data.train)
        return self.facts.writes_text

    @property
    def reads_texts(self) -> bool:
        """Whether a language model learns to continue texts, and not only from the sources of pairs."""
        return self.facts.continues_texts and any(corpus.text is not None for corpus in self.data.train)

    @field_validator("export", "log", mode="after")
    @classmethod
    def _each_once(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        different = tuple(dict.fromkeys(value))
        if different != value:
            twice = ", ".join(each for each in different if value.count(each) > 1)
            raise refused(
                "",
                f"{twice} is listed more than once",
                got=f"[{', '.join(value)}]",
                allowed="each name once",
                fix=f"write [{', '.join(different)}]",
            )
        return value

    @field_validator("length", mode="after")
    @classmethod
    def _at_least_a_step(cls, value: Duration) -> Duration:
        if value.unit == "steps" and value.count < 1:
            raise ValueError(f"got {value}; allowed is at least one step")
        return value
