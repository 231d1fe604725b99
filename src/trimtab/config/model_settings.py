"""What the rest of a recipe asks of every kind of model; a kind writes down what differs."""

from typing import ClassVar

from trimtab.config.settings import Settings


class ModelSettings(Settings):
    """The settings of a model, as far as code asks them whatever its kind."""

    no_plan: ClassVar[str] = ""
    """Why the memory of a run cannot be planned, as in `a detector has no plan: ...`; empty where it can."""
    explains_recording: ClassVar[bool] = False
    """Whether recorded steps are checked where this kind is, so that a general check would repeat it."""
    kept_from_start: ClassVar[tuple[str, ...]] = ()
    """Keys that a run fills in from the pretrained model when it starts, and keeps when it resumes."""

    library: ClassVar[str] = ""
    """The library whose module computes a model of texts, over padded rows of many shapes; empty for models that
    trimtab computes, and for those of images."""

    @property
    def vocabulary_size(self) -> int | None:
        """How many ids its pretrained weights read; None where the tokenizer decides."""
        return None

    @property
    def pretrained_path(self) -> str:
        """Where the pretrained weights are that it begins with; empty where it begins with none."""
        return ""

    @property
    def pretrained_sha256(self) -> str | None:
        """SHA-256 of these weights, once it is known."""
        return None

    @property
    def drawn_on_gpu(self) -> bool:
        """Whether its first weights are drawn on the GPU that trains."""
        return False

    @property
    def cross_attention(self) -> tuple[int, int]:
        """Layers that attend to a source apart, and heads of each; 0 where there are none."""
        return 0, 0
