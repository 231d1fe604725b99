"""What a task determines about a recipe: defaults, kinds of model, how rows are read.

Torch-free; what the task does with data and model is in `trimtab.tasks`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, assert_never, cast, get_args

from trimtab.metrics.catalogue import MetricGroup

Task = Literal["translation", "language_model", "classification", "recognition", "detection", "diffusion"]
TASKS: tuple[Task, ...] = get_args(Task)
IDENTITY = "identity"
"""How sentencepiece normalises for language models: not at all, so that a text comes back as it was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFacts:
    """What a recipe's task decides."""

    model_kinds: tuple[str, ...]
    """The kinds of model that it takes, the usual one first."""
    other_kinds: str
    """What is wrong with any other kind."""
    one_row: bool
    """Whether source and target share one row, a vocabulary and `data.max_tokens`."""
    scores_follow_from_the_loss: bool
    """Whether its own metrics follow from the loss; otherwise validation sets are translated for them."""
    metrics: tuple[MetricGroup, ...]
    """Which groups of metrics it has, its usual ones first."""
    attends_to_source: bool = False
    """Whether a decoder attends to a source apart, which is what aligns words."""
    continues_texts: bool = False
    """Whether the model goes on from what it reads, so that it translates only where it reads pairs."""
    one_target: bool = False
    """Whether an example has one target, whatever its length in tokens; what counts in the loss is then examples."""
    targets: str = "target tokens"
    """What counts in the loss, in messages."""
    in_a_step: str = ""
    """What `step.tokens_per_step` counts, where it is not these targets."""
    each_target: str = "a token"
    """One of them, as in `loss 3.2 a token`."""
    batches: str = "packs"
    """What a step is cut into."""
    mismatch: str = "source and target are aligned"
    """What to look for in the data where a model cannot learn it."""
    writes_text: bool = True
    """Whether the model writes text, so that it can translate, generate, be scored by its texts and be exported."""
    reads_images: bool = False
    """Whether the input is images in place of text."""
    command: str
    """The command that uses the model."""
    pretrained: str = ""
    """The families of pretrained models that it can start from, in words; empty where there are none."""
    defaults: tuple[tuple[str, Any], ...] = ()
    """Of keys that have another default than the recipe's, by dotted path."""
    normalization: str | None = None
    """Default of `data.tokenizer.normalization` for sentencepiece; None for the tokenizer's own."""

    @property
    def counted(self) -> str:
        """What `step.tokens_per_step` counts, in messages."""
        return self.in_a_step or self.targets

    def targets_of_longest(self, max_tokens: int) -> int:
        """Targets of an example of `data.max_tokens`, which the smallest batch has to hold."""
        return 1 if self.one_target else max_tokens


TRANSLATION = TaskFacts(
    model_kinds=("encoder_decoder", "modular", "transformers"),
    other_kinds="a decoder alone reads no source apart",
    attends_to_source=True,
    one_row=False,
    scores_follow_from_the_loss=False,
    metrics=("translations",),
    command="trimtab translate",
    pretrained="Marian and OPUS, M2M100 and NLLB, mBART, BART, T5, mT5 and MADLAD",
)
LANGUAGE_MODEL = TaskFacts(
    model_kinds=("decoder", "pretrained", "transformers"),
    other_kinds="a language model has no encoder",
    one_row=True,
    scores_follow_from_the_loss=True,
    metrics=("texts", "translations"),
    continues_texts=True,
    command="trimtab generate",
    pretrained="Llama, Mistral, Qwen2 and Qwen3; GPT-2, Gemma 1 to 3, Phi, Phi-3, GPT-NeoX and Pythia, OPT, SmolLM3, "
    "OLMo 2 and StarCoder2",
    defaults=(
        ("loss.label_smoothing", 0.0),
        ("evaluate.metrics", ["perplexity", "byte_perplexity", "bits_per_byte"]),
        ("evaluate.best.metric", "loss"),
    ),
    normalization=IDENTITY,
)

CLASSIFICATION = TaskFacts(
    model_kinds=("encoder", "transformers"),
    other_kinds="a classifier is an encoder alone",
    one_row=False,
    scores_follow_from_the_loss=False,
    metrics=("labels",),
    one_target=True,
    targets="examples",
    each_target="an example",
    batches="batches",
    mismatch="`source` names the texts and `target` their labels",
    writes_text=False,
    command="trimtab classify",
    pretrained="BERT and MiniLM, RoBERTa, XLM-R and DistilBERT",
    defaults=(
        ("loss.label_smoothing", 0.0),
        ("step.tokens_per_step", 256),
        ("evaluate.metrics", ["accuracy", "macro_f1"]),
        ("evaluate.best.metric", "accuracy"),
    ),
)
RECOGNITION = TaskFacts(
    reads_images=True,
    model_kinds=("vision",),
    other_kinds="recognition reads images",
    one_row=False,
    scores_follow_from_the_loss=False,
    metrics=("readings",),
    targets="characters",
    each_target="a character",
    batches="batches",
    mismatch="each image shows its text, not mirrored or rotated, and large enough to be read",
    writes_text=False,
    command="trimtab recognise",
    defaults=(
        ("data.images", {}),
        ("data.charset", {}),
        ("loss.label_smoothing", 0.0),
        ("step.tokens_per_step", 4096),
        ("step.cuda_graph", "off"),
        ("evaluate.metrics", ["cer", "wer", "exact", "loops"]),
        ("evaluate.best.metric", "cer"),
    ),
)
DETECTION = TaskFacts(
    reads_images=True,
    model_kinds=("detector",),
    other_kinds="detection looks for boxes in images",
    one_row=False,
    scores_follow_from_the_loss=False,
    metrics=("boxes",),
    one_target=True,
    targets="boxes",
    in_a_step="images",
    each_target="a box",
    batches="batches",
    mismatch="the boxes lie on the objects, not mirrored, shifted or in another unit",
    writes_text=False,
    command="trimtab detect",
    defaults=(
        ("data.canvas", {}),
        ("loss.label_smoothing", 0.0),
        ("loss.boxes", {}),
        ("step.tokens_per_step", 16),
        ("step.cuda_graph", "off"),
        ("step.clip", {"kind": "global_norm", "at": 0.1}),
        ("evaluate.metrics", ["ap", "ap50", "ap75", "ap_nms", "predictions_per_object"]),
        ("evaluate.best.metric", "ap"),
    ),
)
DIFFUSION = TaskFacts(
    reads_images=True,
    model_kinds=("diffusion_transformer",),
    other_kinds="diffusion makes images",
    one_row=False,
    scores_follow_from_the_loss=False,
    metrics=(),
    one_target=True,
    targets="images",
    each_target="an image",
    batches="batches",
    mismatch="the images are what they should be",
    writes_text=False,
    command="trimtab sample",
    defaults=(
        ("data.images.fit", "crop"),
        ("data.images.channels", "rgb"),
        ("data.images.augment", None),
        ("loss.label_smoothing", 0.0),
        ("step.tokens_per_step", 256),
        ("step.cuda_graph", "off"),
        ("step.ema", {}),
        ("evaluate.weights", "ema"),
        ("evaluate.metrics", []),
        ("evaluate.best.metric", "loss"),
    ),
)


def facts_of(task: Task) -> TaskFacts:
    """The facts of a task."""
    match task:
        case "translation":
            return TRANSLATION
        case "language_model":
            return LANGUAGE_MODEL
        case "classification":
            return CLASSIFICATION
        case "recognition":
            return RECOGNITION
        case "detection":
            return DETECTION
        case "diffusion":
            return DIFFUSION
        case _:
            assert_never(task)


def with_task_defaults(tree: Any) -> Any:
    """The plain values of a recipe with the defaults of its task; nothing that is written is changed, and what is no
    group of keys or no task is left for others to complain of."""
    if not isinstance(tree, Mapping):
        return tree
    given = dict(cast("Mapping[str, Any]", tree))
    if given.get("task") not in TASKS:
        return given
    facts = facts_of(given["task"])
    if isinstance(given.get("model"), Mapping):
        given = _filled(given, ["model", "kind"], facts.model_kinds[0])
    step = given.get("step")
    no_average = isinstance(step, Mapping) and "ema" in step and step["ema"] is None
    for path, value in facts.defaults:
        if path == "evaluate.weights" and no_average:
            continue
        given = _filled(given, path.split("."), value)
    data = given.get("data")
    tokenizer = cast("Mapping[str, Any]", data).get("tokenizer", {}) if isinstance(data, Mapping) else None
    is_sentencepiece = (
        isinstance(tokenizer, Mapping) and _kind(cast("Mapping[str, Any]", tokenizer)) == "sentencepiece"
    )
    if facts.normalization is not None and is_sentencepiece:
        given = _filled(given, ["data", "tokenizer", "normalization"], facts.normalization)
    return given


def _kind(tokenizer: Mapping[str, Any]) -> Any:
    return tokenizer.get("kind", "sentencepiece")


def _filled(group: Mapping[str, Any], path: list[str], value: Any) -> dict[str, Any]:
    """The group with a value at a path, unless one stands there or something on the way is no group of keys."""
    name, *rest = path
    if not rest:
        return {name: value, **group}
    below = group.get(name, {})
    if not isinstance(below, Mapping):
        return dict(group)
    return {**group, name: _filled(cast("Mapping[str, Any]", below), rest, value)}
