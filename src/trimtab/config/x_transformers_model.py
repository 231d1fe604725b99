"""A model that the package x-transformers computes, with options of that package."""

from typing import Any, ClassVar, Literal

from pydantic import Field

from trimtab.config.model_settings import ModelSettings

PlainOption = bool | int | float | str | None
Option = PlainOption | tuple[PlainOption, ...]
"""The value of an option: what YAML can say without nesting; a list becomes a tuple, one entry for each layer."""


class XTransformersModel(ModelSettings):
    """A transformer of the package x-transformers (`pip install "trimtab[x_transformers]"`): a decoder for language
    models, an encoder and a decoder for translation, trained from random weights. trimtab passes `options` on to
    the package, and provides batches, loss, steps, checkpoints and decoding as for its own models. Rows are padded, and
    decoding recomputes the whole text at each step, because many options have no cache."""

    reads_prefix: ClassVar[bool] = False
    needs_padding: ClassVar[bool] = True
    library: ClassVar[str] = "x-transformers"
    explains_recording: ClassVar[bool] = True
    no_plan: ClassVar[str] = (
        "a model of x-transformers has no plan: its options decide what layers keep for the backward pass"
    )
    logit_cap: ClassVar[None] = None
    warm_start: ClassVar[None] = None
    """Only models of trimtab start from the weights of another run."""
    warm_start_sha256: ClassVar[None] = None

    kind: Literal["x_transformers"] = "x_transformers"
    dim: int = Field(ge=8, le=65536)
    """Width of embeddings and of the residual stream."""
    heads: int = Field(ge=1, le=1024)
    """Attention heads. Each has `attn_dim_head` numbers, 64 unless `options` says otherwise, whatever `dim` is."""
    layers: int = Field(ge=1, le=1000)
    """Layers of the decoder, each of attention and a feed-forward block."""
    encoder_layers: int | None = Field(default=None, ge=1, le=1000)
    """Layers of an encoder, whose output the decoder attends to; needed for translation, and only there."""
    dropout: float = Field(default=0.0, ge=0, lt=1)
    """Applied to embeddings and to the output of each sub-layer (`emb_dropout`, `attn_sublayer_dropout` and
    `ff_sublayer_dropout`, where `options` does not set them)."""
    tie_embeddings: bool = True
    """One matrix for the decoder's input and its output, or two."""
    options: dict[str, Option] = Field(default={})
    """Arguments of x-transformers: those of `TransformerWrapper` and `AttentionLayers`, and with the prefixes `attn_`,
    `cross_attn_` and `ff_` those of `Attention` and `FeedForward`, such as `{rotary_pos_emb: true, attn_qk_norm: true,
    ff_glu: true}`. The installed version decides which exist; trimtab refuses unknown options, those that it sets
    itself, and those that it cannot train with."""
    encoder_options: dict[str, Option] = Field(default={})
    """Options of the encoder alone, which take precedence over `options`; only for translation."""
    decoder_options: dict[str, Option] = Field(default={})
    """Options of the decoder alone, which take precedence over `options`; only for translation."""

    @property
    def has_encoder(self) -> bool:
        """Whether it reads a source in both directions."""
        return self.encoder_layers is not None

    def options_of(self, *, encoder: bool) -> dict[str, Any]:
        """What x-transformers gets for one stack: the dropout of the recipe, and the options over it."""
        own = self.encoder_options if encoder else self.decoder_options
        dropouts = ("emb_dropout", "attn_sublayer_dropout", "ff_sublayer_dropout")
        return {**dict.fromkeys(dropouts, self.dropout), **self.options, **own}
