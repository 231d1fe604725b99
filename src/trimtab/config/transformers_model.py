"""A pretrained model that a module of Hugging Face's transformers computes."""

import json
from typing import Any, ClassVar, Literal, cast

from pydantic import Field, model_validator

from trimtab.config.model_settings import ModelSettings
from trimtab.config.pretrained.families import FAMILIES
from trimtab.config.settings import refused


class TransformersModel(ModelSettings):
    """A pretrained model whose layers are a module of Hugging Face's transformers: Marian, M2M100 and NLLB, mBART,
    BART, T5 and MADLAD for translation; GPT-2, Gemma and others for language models; BERT, RoBERTa and DistilBERT for
    classification. Write `kind: pretrained`; the
    file config.json of the model decides, and the run records what it found. trimtab makes batches, loss, steps and
    checkpoints as for its own models. Rows are padded, and weights train in float32 whatever their precision in the
    files."""

    reads_prefix: ClassVar[bool] = False
    needs_padding: ClassVar[bool] = True
    """Attention runs over padded rows."""
    library: ClassVar[str] = "transformers"
    explains_recording: ClassVar[bool] = True
    no_plan: ClassVar[str] = (
        "a model that transformers computes has no plan: what its layers keep for the backward pass is not known"
    )
    warm_start: ClassVar[None] = None
    """Its weights are those of `path`."""
    warm_start_sha256: ClassVar[None] = None

    kind: Literal["transformers"] = "transformers"
    path: str = ""
    """Where the model is: a folder with config.json and *.safetensors, or `OWNER/NAME` of the Hugging Face hub,
    downloaded before with `hf download`. The path is relative to the recipe's folder. No code of the folder is
    executed, and no pickled weights are read."""
    sha256: str | None = None
    """SHA-256 of the weights. The run fills it in when it starts. If it is set, the weights must match."""
    family: str = ""
    """The `model_type` of config.json; read from it."""
    settings: str = Field(default="", max_length=1_000_000)
    """What config.json says, as one line of JSON, so that the run needs the folder once; read from it."""
    trained_layers: int | None = Field(default=None, ge=0, le=1000)
    """Train only this many of a classifier's last layers and what follows them; freeze the embeddings and all other
    layers. 0 trains the new head alone. By default all weights are trained."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """Dropout of embeddings and sub-layers; by default the model's own. 0 also switches off the model's dropout of
    attention and activations."""
    dim: int = Field(default=0, ge=2, le=65536)
    """Width of the residual stream; read from the files."""
    num_ids: int = Field(default=0, ge=1, le=10_000_000)
    """Ids that the output layer scores; read from the files."""
    num_source_ids: int = Field(default=0, ge=1, le=10_000_000)
    """Rows of the source's embeddings; read from the files."""
    tie_embeddings: bool = True
    """Whether embeddings and output share a matrix; read from the files."""

    @property
    def has_encoder(self) -> bool:
        """Whether it reads a source, or a text to classify, in both directions."""
        family = FAMILIES.get(self.family)
        return family is None or not family.facts.continues_texts

    @property
    def logit_cap(self) -> float | None:
        """The bound that logits are squashed to by `cap * tanh(logit / cap)`, as in Gemma 2; None for none."""
        family = FAMILIES.get(self.family)
        usual = None if family is None else family.logit_cap
        try:
            said: Any = json.loads(self.settings)
        except (ValueError, RecursionError):
            return usual  # making the model says what is wrong with them
        given = cast("dict[str, Any]", said) if isinstance(said, dict) else {}
        cap = given.get("final_logit_softcapping", usual)
        return float(cap) if isinstance(cap, int | float) and cap > 0 else None

    @model_validator(mode="after")
    def _is_filled(self) -> "TransformersModel":
        if not self.path:
            raise refused(
                "path",
                "not given, and a pretrained model needs one",
                got="no path",
                allowed="a folder with config.json, or OWNER/NAME of the hub",
                fix="name one",
            )
        return self

    @property
    def pretrained_path(self) -> str:
        """See `ModelSettings.pretrained_path`."""
        return self.path

    @property
    def pretrained_sha256(self) -> str | None:
        """See `ModelSettings.pretrained_sha256`."""
        return self.sha256
