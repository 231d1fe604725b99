"""A pretrained recognizer: TrOCR of transformers over the images of a strip, all of one size."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from trimtab.config.trocr_model import TrOCRModel
from trimtab.model.module.module_model import ModuleModel, padded_rows
from trimtab.model.module.network import network_settings, new_network
from trimtab.model.module.session import ModuleSession
from trimtab.tasks.recognition.batches import GAP, ImageBatch, Patches
from trimtab.tasks.recognition.model import ImageStream, LineReader
from trimtab.types import Stream


class PretrainedReader(ModuleModel):
    """A VisionEncoderDecoderModel of transformers behind `types.TrainableModel`; see `ModuleModel`."""

    config: TrOCRModel
    forced_first: int | None = None
    fresh = ("encoder.pooler.",)
    """Nothing reads what the pooler gives, and published folders leave it out."""

    def __init__(self, config: TrOCRModel, *, max_positions: int, pad: int, seed: int) -> None:
        """`pad` fills rows of pieces up."""
        network = new_network(config, network_settings(config), seed=seed)
        if getattr(network.encoder, "pooler", None) is not None:
            network.encoder.pooler.requires_grad_(False)
        keep_positions(network)
        super().__init__(config, network, num_ids=config.num_ids, max_positions=max_positions)
        self.pad = pad
        mean, std = (
            torch.tensor(each).view(1, 3, 1, 1) / config.rescale
            for each in (config.image_mean, config.image_std)
        )
        self.register_buffer("mean", mean, persistent=False)
        self.register_buffer("std", std, persistent=False)

    def forward(self, batch: ImageBatch) -> Float[Tensor, "targets dim"]:
        """The vector from which each piece is predicted."""
        return self.write(batch, self.read(batch.patches))

    def read(self, patches: Patches) -> Float[Tensor, "images patches dim"]:
        """The encoder's output for each image, as the decoder attends to it."""
        network = self.network
        memory = network.encoder(pixel_values=self.normalized(self.images(patches))).last_hidden_state
        return network.enc_to_dec_proj(memory) if hasattr(network, "enc_to_dec_proj") else memory

    def images(self, patches: Patches) -> Tensor:
        """The images of a strip, `images 3 height width`, uint8."""
        side = self.config.image_size
        wide = side + GAP * self.config.patch[1]
        strip = patches.pixels[:, :side].unflatten(2, (-1, wide))
        return strip[..., :side].permute(2, 0, 1, 3)

    def normalized(self, pixels: Tensor) -> Float[Tensor, "images 3 height width"]:
        """Pixels as the model was trained on them, in the precision of its weights."""
        found = (pixels.to(self.mean.dtype) - self.mean) / self.std
        return found.to(next(self.network.parameters()).dtype)

    def write(
        self, batch: ImageBatch, memory: Float[Tensor, "images patches dim"]
    ) -> Float[Tensor, "targets dim"]:
        """The decoder's output for each piece, all at once (teacher forcing)."""
        rows, _, places = padded_rows(batch.text, self.pad)
        # What is fed after the end of a row is seen by nothing before it.
        found = self.decoder(input_ids=rows, encoder_hidden_states=memory, use_cache=False)
        return found.last_hidden_state.flatten(0, 1)[places]

    @property
    def decoder(self) -> Any:
        """The decoder without what scores the pieces."""
        return self.network.decoder.model.decoder

    def open_session(self, source: Stream, *, rows: int, width: int, max_length: int) -> ModuleSession:
        """Reads the images; a text may grow to `max_length` pieces, its end included."""
        assert isinstance(source, ImageStream), "the source of a session over images"
        assert source.patches is not None
        assert max_length <= self.max_positions, (max_length, self.max_positions)
        memory = self.read(source.patches)[:rows]
        real = memory.new_ones(memory.shape[:2], dtype=torch.long)
        return ModuleSession(self, self.decoder, memory, real, width=width)

    def fed(self, side: Any, ids: Tensor) -> dict[str, Tensor]:
        """What the decoder reads of ids."""
        return {"input_ids": ids}

    def scored(self, hidden: Float[Tensor, "tokens dim"]) -> Float[Tensor, "tokens dim"]:
        """The decoder's vectors as `output_matrix` takes them."""
        return hidden

    @property
    def output_layer(self) -> nn.Linear:
        """What scores the pieces."""
        return self.network.decoder.output_projection

    @property
    def output_bias(self) -> None:
        """None: the scores have no bias."""
        return None

    @property
    def blocks(self) -> tuple[nn.Module, ...]:
        """The layers of the encoder, then those of the decoder."""
        encoder = self.network.encoder
        layers = encoder.layers if hasattr(encoder, "layers") else encoder.encoder.layer
        return (*layers, *self.decoder.layers)

    def tokens_read(self, batch: ImageBatch) -> dict[str, int]:
        """How many patches and pieces each stack of layers reads, by its name."""
        return {"encoder": batch.num_tokens, "decoder": batch.num_targets}

    def wrongly_tied(self) -> str:
        """Which matrices are not tied as the settings say; empty where all are."""
        is_tied = self.output_layer.weight is self.decoder.embed_tokens.weight
        return "" if is_tied == self.config.tie_embeddings else "the output matrix and the embeddings"


def keep_positions(network: Any) -> None:
    """Makes a buffer of the decoder's table of sines, as far as it has one. transformers up to 5.24 keeps it as a plain
    attribute, which `from_pretrained` leaves without numbers and no GPU is given."""
    positions = network.decoder.model.decoder.embed_positions
    table = getattr(positions, "weights", None)
    if table is None or "weights" in dict(positions.named_buffers()):
        return
    made = positions.get_embedding(len(table), positions.embedding_dim, positions.padding_idx)
    del positions.weights
    positions.register_buffer("weights", made, persistent=False)


AnyReader = LineReader | PretrainedReader
