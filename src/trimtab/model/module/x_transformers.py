"""Decoders and encoder-decoders of the package x-transformers over flat packs; see `config/x_transformers_model.py`."""

from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from trimtab.config.x_transformers_model import XTransformersModel
from trimtab.config.x_transformers_options import INSTALL, known_options, package_file
from trimtab.errors import input_error
from trimtab.model.module.module_model import ModuleModel, padded_rows
from trimtab.model.module.x_session import UncachedPrompts, UncachedSession
from trimtab.model.neftune import with_noise
from trimtab.types import PackedBatch, Stream

TRIAL = (2, 4)
"""Rows and tokens of the pass that tries a new network."""


class XModel(ModuleModel):
    """What both kinds have in common. `network.decoder` is a `TransformerWrapper`."""

    config: XTransformersModel
    neftune_alpha: float | None = None
    """Of the noise on embeddings in training; building a run sets it."""

    def __init__(
        self, config: XTransformersModel, network: Any, *, num_ids: int, max_positions: int, pad: int
    ) -> None:
        """`pad` fills rows up."""
        super().__init__(config, network, num_ids=num_ids, max_positions=max_positions)
        self.pad = pad

    def forward(self, batch: PackedBatch) -> Float[Tensor, "target_tokens width"]:
        """The vector from which each label is predicted, `output_matrix @ vector` being its scores."""
        memory = self.encode(batch.source) if self.has_encoder else ()
        return self.decode(batch.target, *memory)

    def encode(self, source: Stream) -> tuple[Float[Tensor, "rows longest dim"], Tensor]:
        """The encoder's output for each token of padded rows, and which of them are real."""
        ids, real, _ = padded_rows(source, self.pad)
        return self.network.encoder(ids, mask=real, return_embeddings=True), real

    def decode(self, stream: Stream, *memory: Tensor) -> Float[Tensor, "tokens width"]:
        """The output for each token of a stream, all at once. `memory` is what `encode` gives."""
        ids, real, places = padded_rows(stream, self.pad)
        noise: dict[str, Any] = {}
        if self.training and (alpha := self.neftune_alpha) is not None:
            lengths = real.sum(1, keepdim=True).expand_as(ids)
            noise = {"transform_token_embeds": lambda embedded: with_noise(embedded, lengths, alpha=alpha)}
        return self.hidden_of(ids, *memory, **noise).flatten(0, 1)[places]

    def hidden_of(
        self, ids: Int[Tensor, "rows length"], *memory: Tensor, **more: Any
    ) -> Float[Tensor, "rows length dim"]:
        """The decoder's vectors for padded rows. Attention is causal, so that padding behind a row changes nothing in
        it."""
        context = dict(zip(("context", "context_mask"), memory, strict=False))  # none without an encoder
        return self.scored(self.network.decoder(ids, return_embeddings=True, **context, **more))

    def tokens_read(self, batch: PackedBatch) -> dict[str, int]:
        """How many real tokens of a pack each stack of layers reads, by the stack's name."""
        if not self.has_encoder:
            return {"decoder": batch.num_tokens}
        return {"encoder": batch.num_tokens - batch.num_targets, "decoder": batch.num_targets}

    @property
    def has_encoder(self) -> bool:
        """Whether the decoder attends to a source."""
        return hasattr(self.network, "encoder")

    def wrongly_tied(self) -> str:
        """Which matrices are not tied as the settings say: none, since the package ties them by a function."""
        return ""

    def scored(self, hidden: Float[Tensor, "*tokens dim"]) -> Float[Tensor, "*tokens dim"]:
        """The decoder's vectors as `output_matrix` takes them: tied outputs are scaled down, by `tie_embedding_scale`
        or the root of dim."""
        return hidden * self.network.decoder.tie_embedding_scale if self.config.tie_embeddings else hidden

    @property
    def output_layer(self) -> nn.Module:
        """What scores the vocabulary: the output layer, or the embeddings."""
        decoder = self.network.decoder
        return decoder.token_emb.emb if self.config.tie_embeddings else decoder.to_logits

    @property
    def output_bias(self) -> None:
        """The package has none."""
        return None

    def narrowed(self, dtype: torch.dtype) -> "XModel":
        """The model itself with its weights in half precision; angles and slopes of positions stay as they are."""
        for parameter in self.parameters():
            parameter.data = parameter.data.to(dtype)
        return self

    @property
    def blocks(self) -> tuple[nn.Module, ...]:
        """Each sub-layer with its norms; those of the encoder first."""
        stacks = [self.network.encoder] if self.has_encoder else []
        return tuple(layer for each in (*stacks, self.network.decoder) for layer in each.attn_layers.layers)


class XDecoder(XModel):
    """A language model of x-transformers. It reads the target stream of a pack alone, a row for each segment."""

    def __init__(
        self, config: XTransformersModel, *, num_ids: int, max_positions: int, pad: int, seed: int
    ) -> None:
        """`pad` fills rows up."""

        def made() -> Stacks:
            return Stacks(decoder=_stack(config, "Decoder", num_ids=num_ids, max_positions=max_positions))

        network = new_stacks(made, options=config.options, seed=seed)
        super().__init__(config, network, num_ids=num_ids, max_positions=max_positions, pad=pad)

    def open_prompts(self, *, rows: int, width: int) -> UncachedPrompts:
        """Room for rows of prompts that continue."""
        return UncachedPrompts(self, rows=rows, width=width)


class XTranslator(XModel):
    """An encoder-decoder of x-transformers."""

    def __init__(
        self,
        config: XTransformersModel,
        *,
        num_ids: int,
        num_source_ids: int,
        max_positions: int,
        pad: int,
        seed: int,
    ) -> None:
        """`pad` fills rows up."""

        def made() -> Stacks:
            encoder = _stack(config, "Encoder", num_ids=num_source_ids, max_positions=max_positions)
            return Stacks(
                encoder=encoder,
                decoder=_stack(
                    config, "Decoder", num_ids=num_ids, max_positions=max_positions, cross_attend=True
                ),
            )

        given = {**config.options, **config.encoder_options, **config.decoder_options}
        network = new_stacks(made, options=given, seed=seed)
        super().__init__(config, network, num_ids=num_ids, max_positions=max_positions, pad=pad)

    def open_session(self, source: Stream, *, rows: int, width: int, max_length: int) -> UncachedSession:
        """Encodes the source; a hypothesis may grow to `max_length` tokens, at most the model's longest text."""
        assert max_length <= self.max_positions, (max_length, self.max_positions)
        memory, real = self.encode(source)
        return UncachedSession(
            self.hidden_of, self.output_matrix, memory=memory[:rows], real=real[:rows], width=width
        )


class Stacks(nn.Module):
    """An encoder, where there is one, and a decoder."""

    def __init__(self, **stacks: nn.Module) -> None:
        super().__init__()
        for name, stack in stacks.items():
            self.add_module(name, stack)


def _stack(
    config: XTransformersModel, layers: str, *, num_ids: int, max_positions: int, cross_attend: bool = False
) -> nn.Module:
    """A `TransformerWrapper` with layers of the class `Encoder` or `Decoder`."""
    import x_transformers

    encodes = layers == "Encoder"
    given = config.options_of(encoder=encodes)
    outer = _wrapper_options()
    inner = {name: value for name, value in given.items() if name not in outer}
    attention = getattr(x_transformers, layers)(
        dim=config.dim,
        depth=config.encoder_layers if encodes else config.layers,
        heads=config.heads,
        verbose=False,
        **({"cross_attend": True} if cross_attend else {}),
        **inner,
    )
    output = {"return_only_embed": True} if encodes else {"tie_embedding": config.tie_embeddings}
    return x_transformers.TransformerWrapper(
        num_tokens=num_ids,
        max_seq_len=max_positions,
        attn_layers=attention,
        **output,
        **{name: value for name, value in given.items() if name in outer},
    )


def _wrapper_options() -> frozenset[str]:
    """The options that `TransformerWrapper` takes; all others are for the layers."""
    import inspect

    from x_transformers import TransformerWrapper

    return frozenset(inspect.signature(TransformerWrapper.__init__).parameters)


def new_stacks(made: Callable[[], Any], *, options: Mapping[str, Any], seed: int) -> Any:
    """What `made` gives, with first weights that follow from the seed, after a pass over a few tokens without a
    gradient. Raises InputError where the package is missing, broken or unknown, or refuses the options."""
    _refuse_unusable()
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            network = made()
            _try(network)
    except ImportError as error:
        raise input_error(
            "model.kind: x-transformers cannot import what it needs",
            got=" ".join(f"{type(error).__name__}: {error}".split())[:200],
            allowed="an environment with all dependencies of x-transformers",
            fix="pip install --upgrade x-transformers",
        ) from None
    except Exception as error:  # the package raises anything on options that do not fit each other
        said = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise input_error(
            "model.options: x-transformers cannot build or run a model with these options",
            got=said,
            allowed="options that fit each other, and sizes that fit `model.dim` and `model.heads`",
            fix="leave options out one by one: " + ", ".join(options) if options else "change `model.heads`",
        ) from None
    return network


def _refuse_unusable() -> None:
    """Raises InputError where the package is not installed, or in a version whose options cannot be read."""
    if package_file() is None:
        raise input_error(
            "model.kind: x_transformers needs the package x-transformers",
            got="an environment without it",
            allowed="an environment with the extra `x_transformers`",
            fix=INSTALL,
        )
    if not known_options():
        try:
            installed = version("x-transformers")
        except PackageNotFoundError:
            installed = "unknown"
        raise input_error(
            "model.kind: trimtab cannot read the options of this version of x-transformers",
            got=f"version {installed}, whose source has other classes",
            allowed="a version from 2.31 to before 3",
            fix='pip install "x-transformers~=2.31"',
        )


@torch.no_grad()
def _try(network: Any) -> None:
    ids = torch.zeros(TRIAL, dtype=torch.long)
    network.eval()
    context = {}
    if hasattr(network, "encoder"):
        real = torch.ones(TRIAL, dtype=torch.bool)
        context = {"context": network.encoder(ids, mask=real, return_embeddings=True), "context_mask": real}
    network.decoder(ids, return_embeddings=True, **context)
    network.train()
