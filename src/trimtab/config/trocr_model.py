"""A pretrained recognizer of text lines: TrOCR, whose layers are a module of Hugging Face's transformers."""

from typing import ClassVar, Literal

from pydantic import Field

from trimtab.config.transformers_model import TransformersModel

Resample = Literal["nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"]


class TrOCRModel(TransformersModel):
    """TrOCR (arXiv 2109.10282): a ViT or DeiT encoder over a square image, and a decoder that writes pieces of text.
    Write `kind: pretrained`; the files config.json and preprocessor_config.json of the model decide, and the run
    records what it found."""

    head: ClassVar[Literal["attention"]] = "attention"
    has_ctc: ClassVar[bool] = False
    has_decoder: ClassVar[bool] = True

    kind: Literal["trocr"] = "trocr"  # pyright: ignore[reportIncompatibleVariableOverride]
    trained_layers: None = None  # pyright: ignore[reportIncompatibleVariableOverride]
    """For classifiers alone; `freeze: ["network.encoder.*"]` freezes the encoder."""
    image_size: int = Field(default=384, ge=16, le=4096, multiple_of=16)
    """Height and width of the images that it reads, in pixels; read from the files."""
    patch: tuple[int, int] = (16, 16)
    """Height and width of a patch of the encoder in pixels; read from the files."""
    resample: Resample = "bilinear"
    """Filter of Pillow that images are resized with; read from preprocessor_config.json."""
    rescale: float = Field(default=1 / 255, gt=0, le=1)
    """Factor of the levels 0 to 255; read from preprocessor_config.json."""
    image_mean: tuple[float, float, float] = (0.5, 0.5, 0.5)
    """What is subtracted from red, green and blue; read from preprocessor_config.json."""
    image_std: tuple[float, float, float] = (0.5, 0.5, 0.5)
    """What they are then divided by; read from preprocessor_config.json."""

    @property
    def multiple(self) -> tuple[int, int]:
        """Height and width in pixels that images are multiples of."""
        return self.patch
