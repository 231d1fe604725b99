"""Language models of transformers: GPT-2, Gemma, Phi, GPT-NeoX and Pythia, OPT, SmolLM3, OLMo 2, StarCoder2."""

from typing import Any

from jaxtyping import Float
from torch import Tensor, nn

from trimtab.config.transformers_model import TransformersModel
from trimtab.model.module.module_model import ModuleModel, padded_rows
from trimtab.model.module.network import network_settings, new_network
from trimtab.model.module.prompts import NetworkPrompts
from trimtab.model.neftune import with_noise
from trimtab.types import PackedBatch, Stream


class CausalModule(ModuleModel):
    """A language model of transformers over flat packs: see `ModuleModel`. It reads the target stream of a pack alone,
    a row for each segment."""

    def __init__(self, config: TransformersModel, *, max_positions: int, pad: int, seed: int) -> None:
        """`pad` fills rows up."""
        network = new_network(config, network_settings(config), seed=seed)
        transposed = with_linear_maps(network)
        super().__init__(config, network, num_ids=config.num_ids, max_positions=max_positions)
        self.pad, self.transposed = pad, transposed
        self.neftune_alpha: float | None = None
        """Of the noise on embeddings in training; building a run sets it."""

    def forward(self, batch: PackedBatch) -> Float[Tensor, "target_tokens width"]:
        """The vector from which each label is predicted, `output_matrix @ vector` being its scores before any cap."""
        return self.decode(batch.target)

    def decode(self, stream: Stream) -> Float[Tensor, "tokens width"]:
        """The output for each token of a stream, all at once."""
        ids, real, places = padded_rows(stream, self.pad)
        given = {"input_ids": ids}
        if self.training and self.neftune_alpha is not None:
            embedded, lengths = self.network.get_input_embeddings()(ids), real.sum(1, keepdim=True)
            given = {"inputs_embeds": with_noise(embedded, lengths.expand_as(ids), alpha=self.neftune_alpha)}
        # Without a mask attention is causal; the padding of a row comes after all of its tokens.
        found = self.network.base_model(**given, use_cache=False)
        return self.with_bias_columns(found.last_hidden_state.flatten(0, 1)[places])

    def open_prompts(self, *, rows: int, width: int) -> NetworkPrompts:
        """Room for rows of prompts that continue."""
        return NetworkPrompts(self.network, rows=rows, width=width)

    def tokens_read(self, batch: PackedBatch) -> dict[str, int]:
        """How many real tokens of a pack each stack of layers reads, by the stack's name."""
        return {"decoder": batch.num_tokens}

    def wrongly_tied(self) -> str:
        """Which matrices are not tied as the settings say; empty where all are."""
        table = self.network.get_input_embeddings().weight.data_ptr()
        is_tied = self.output_layer.weight.data_ptr() == table
        return "" if is_tied == self.config.tie_embeddings else "the output matrix and the embeddings"

    @property
    def output_layer(self) -> nn.Linear:
        """What scores the vocabulary."""
        return self.network.get_output_embeddings()

    @property
    def output_bias(self) -> Float[Tensor, "rows"] | None:
        """The bias of the vocabulary, which Phi has and trains."""
        return self.output_layer.bias

    @property
    def blocks(self) -> tuple[nn.Module, ...]:
        """The layers."""
        inner: Any = self.network.base_model
        inner = getattr(inner, "decoder", inner)  # of OPT
        return tuple(inner.h if hasattr(inner, "h") else inner.layers)


def with_linear_maps(network: nn.Module) -> frozenset[str]:
    """Puts linear maps in the place of what GPT-2 has for them, which keeps matrices with inputs and outputs exchanged,
    so that adapters need to know of one kind alone; the names of these matrices."""
    from transformers.pytorch_utils import Conv1D

    found: set[str] = set()
    for name, module in [*network.named_modules()]:
        if isinstance(module, Conv1D):
            inputs, outputs = module.weight.shape
            linear = nn.Linear(inputs, outputs, device="meta")
            linear.weight = nn.Parameter(module.weight.detach().T.contiguous())
            linear.bias = module.bias
            owner, _, attribute = name.rpartition(".")
            setattr(network.get_submodule(owner), attribute, linear)
            found.add(f"{name}.weight")
    return frozenset(found)
