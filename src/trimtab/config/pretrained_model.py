"""A pretrained language model: what the files of Hugging Face or a GGUF file hold, in the native decoder."""

from typing import Literal

from pydantic import Field, model_validator

from trimtab.config.decoder_model import DecoderModel
from trimtab.config.settings import refused

_OF_THE_FILES = (
    "norm",
    "norm_position",
    "rezero",
    "activation",
    "experts",
    "mixture_of_depths",
    "absolute_fade",
)
"""Beside the kind of positions: with other values, the model would have weights that no file holds."""


class PretrainedModel(DecoderModel):
    """A language model of the families Llama, Mistral, Qwen2 or Qwen3 with its trained weights, in the native decoder:
    packed batches, recorded steps, exports and everything else are those of `kind: decoder`. Its sizes are read from
    the files, and the run records them; weights train in float32 whatever their precision in the files."""

    kind: Literal["pretrained"] = "pretrained"  # pyright: ignore[reportIncompatibleVariableOverride]
    path: str = ""
    """Where the model is: a folder with config.json and *.safetensors, a .gguf file of Llama's architecture, or
    `OWNER/NAME` of the Hugging Face hub, downloaded before with `hf download`. The path is relative to the recipe's
    folder. No code of the folder is executed, and no pickled weights are read."""
    sha256: str | None = None
    """SHA-256 of the weights. The run fills it in when it starts, so that its recipe records what it started from. If
    it is set, the weights must match."""
    num_ids: int = Field(default=0, ge=1, le=10_000_000)
    """Rows of the embeddings, which may be more than the tokenizer has ids for; read from the files."""

    @model_validator(mode="after")
    def _starts_once(self) -> "PretrainedModel":
        if self.warm_start is not None:
            raise refused(
                "warm_start",
                "the weights come from `path` and cannot also come from a run",
                got="both",
                allowed="path or warm_start",
                fix="leave one of them out; a run with a pretrained model continues with `--resume`",
            )
        if not self.path:
            raise refused(
                "path",
                "not given, and a pretrained model needs one",
                got="no path",
                allowed="a folder with config.json, a .gguf file, or OWNER/NAME of the hub",
                fix="name one, or set `kind: decoder` to train from nothing",
            )
        found = {key: getattr(self, key) for key in _OF_THE_FILES} | {
            "positions": self.position_settings.kind
        }
        for key, value in found.items():
            if value != (only := type(self).model_fields[key].default):
                raise refused(
                    key,
                    "the layers of a pretrained model are as its files describe them",
                    got=str(value),
                    allowed=str(only),
                    fix="leave it out, or set `kind: decoder` to train from nothing",
                )
        return self

    @property
    def vocabulary_size(self) -> int | None:
        """See `ModelSettings.vocabulary_size`."""
        return self.num_ids

    @property
    def pretrained_path(self) -> str:
        """See `ModelSettings.pretrained_path`."""
        return self.path

    @property
    def pretrained_sha256(self) -> str | None:
        """See `ModelSettings.pretrained_sha256`."""
        return self.sha256
