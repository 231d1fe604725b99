"""Encoder-decoders of transformers: Marian, M2M100 and NLLB, mBART, BART, Pegasus, T5."""

import json
from typing import Any

from jaxtyping import Float, Int
from torch import Tensor, nn

from trimtab.config.transformers_model import TransformersModel
from trimtab.model.module.module_model import ModuleModel, padded_rows
from trimtab.model.module.network import network_settings, new_network
from trimtab.model.module.session import ModuleSession
from trimtab.types import PackedBatch, Stream

BIAS = "final_logits_bias"


class Seq2SeqModule(ModuleModel):
    """A translator of transformers over flat packs: see `ModuleModel`."""

    def __init__(
        self, config: TransformersModel, *, max_positions: int, pad: int, forced_first: int | None, seed: int
    ) -> None:
        """`pad` fills rows up, and `forced_first` is what every translation begins with, None for anything."""
        settings = network_settings(config)
        super().__init__(
            config,
            new_network(config, settings, seed=seed),
            num_ids=config.num_ids,
            max_positions=max_positions,
        )
        self.pad, self.forced_first = pad, forced_first
        scale = config.family != "mt5" and getattr(settings, "scale_decoder_outputs", False)
        self.output_scale: float = config.dim**-0.5 if scale else 1.0
        """Of hidden vectors before the output layer, in T5 whose matrices are tied (arXiv 1910.10683, section 2.1)."""

    def forward(self, batch: PackedBatch) -> Float[Tensor, "target_tokens width"]:
        """The vector from which each label is predicted, `output_matrix @ vector` being its scores."""
        source, real, _ = padded_rows(batch.source, self.pad)
        target, _, places = padded_rows(batch.target, self.pad)
        memory = self.encode(source, real)
        # What is fed after the end of a row is seen by nothing before it.
        decoder = self.network.get_decoder()
        found = decoder(
            **self.fed(decoder, target),
            encoder_hidden_states=memory,
            encoder_attention_mask=real.long(),
            use_cache=False,
        )
        return self.scored(found.last_hidden_state.flatten(0, 1)[places])

    def encode(self, ids: Int[Tensor, "rows longest"], real: Tensor) -> Float[Tensor, "rows longest dim"]:
        """The encoder's output for each token of padded rows."""
        encoder = self.network.get_encoder()
        return encoder(**self.fed(encoder, ids), attention_mask=real.long()).last_hidden_state

    def fed(self, side: Any, ids: Int[Tensor, "rows length"]) -> dict[str, Tensor]:
        """What encoder or decoder read of ids. M2M100 counts its positions by which ids are padding, so that a token
        with that id in the middle of a text would change them; given vectors, it counts all."""
        vectors = self.config.family == "m2m_100"
        return {"inputs_embeds": side.embed_tokens(ids)} if vectors else {"input_ids": ids}

    def scored(self, hidden: Float[Tensor, "tokens dim"]) -> Float[Tensor, "tokens width"]:
        """The decoder's vectors as `output_matrix` takes them."""
        return self.with_bias_columns(hidden if self.output_scale == 1.0 else hidden * self.output_scale)

    def open_session(self, source: Stream, *, rows: int, width: int, max_length: int) -> ModuleSession:
        """Encodes the source; a hypothesis may grow to `max_length` tokens, at most the model's longest text."""
        assert max_length <= self.max_positions, (max_length, self.max_positions)
        ids, real, _ = padded_rows(source, self.pad)
        memory = self.encode(ids[:rows], real[:rows])
        return ModuleSession(self, self.network.get_decoder(), memory, real[:rows], width=width)

    def tokens_read(self, batch: PackedBatch) -> dict[str, int]:
        """How many real tokens of a pack each stack of layers reads, by the stack's name."""
        return {"encoder": batch.num_tokens - batch.num_targets, "decoder": batch.num_targets}

    def wrongly_tied(self) -> str:
        """Which matrices are not tied as the settings say; empty where all are."""
        target = self.network.get_decoder().embed_tokens.weight.data_ptr()
        is_tied = self.output_layer.weight.data_ptr() == target
        return (
            "" if is_tied == self.config.tie_embeddings else "the output matrix and the target's embeddings"
        )

    @property
    def output_layer(self) -> nn.Linear:
        """What scores the vocabulary."""
        return self.network.get_output_embeddings()

    @property
    def output_bias(self) -> Float[Tensor, "rows"] | None:
        """The bias of the vocabulary, which no step changes; None where it is zero, as in most families."""
        bias: Tensor | None = getattr(self.network, BIAS, None)
        return None if bias is None or not self._is_biased() else bias[0]

    def _is_biased(self) -> bool:
        # Looked at once for each tensor and state of it: on a GPU a look would wait for everything before it.
        bias: Any = getattr(self.network, BIAS)
        mark = (bias.data_ptr(), bias._version)
        if self.__dict__.get("_bias_mark") != mark:
            self.__dict__["_bias_mark"], self.__dict__["_biased"] = mark, bool(bias.any())
        return self.__dict__["_biased"]

    @property
    def blocks(self) -> tuple[nn.Module, ...]:
        """The layers of the encoder, then those of the decoder."""
        return tuple(
            block
            for side in (self.network.get_encoder(), self.network.get_decoder())
            for block in (side.block if hasattr(side, "block") else side.layers)
        )


def forced_by(config: TransformersModel) -> int | None:
    """What the settings of the model force every translation to begin with."""
    found = json.loads(config.settings).get("forced_bos_token_id")
    return found if type(found) is int else None
