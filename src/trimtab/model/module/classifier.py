"""Classifiers of transformers: BERT and MiniLM, RoBERTa and XLM-R, DistilBERT, with a head for the labels of a run."""

from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from trimtab.config.transformers_model import TransformersModel
from trimtab.errors import input_error
from trimtab.model.module.module_model import ModuleModel, padded_rows
from trimtab.model.module.network import network_settings, new_network
from trimtab.types import Stream

COUNTS_ON = ("roberta", "xlm-roberta")
"""Families whose first position is the one after the padding id."""


@runtime_checkable
class Texts(Protocol):
    """A batch of texts, each with a label."""

    @property
    def text(self) -> Stream:
        """Ids of the texts."""
        ...

    @property
    def labels(self) -> Int[Tensor, "segments"]:
        """A label for each segment."""
        ...

    @property
    def num_tokens(self) -> int:
        """Real tokens."""
        ...


class ModuleClassifier(ModuleModel):
    """An encoder of transformers with the head of its family: the vector of the first token through a dense layer, then
    a score for each label. The head begins untrained where the files have none for these labels."""

    fresh = ("classifier.", "pre_classifier.", "bert.pooler.")

    def __init__(
        self, config: TransformersModel, *, num_labels: int, max_positions: int, pad: int, seed: int
    ) -> None:
        """`pad` fills rows up."""
        network = new_network(config, network_settings(config, num_labels=num_labels), seed=seed)
        keep_layers(network, config)
        super().__init__(config, network, num_ids=num_labels, max_positions=max_positions)
        self.pad = pad

    def forward(self, batch: Texts) -> Float[Tensor, "segments width"]:
        """The vector from which each label is predicted, `output_matrix @ vector` being its scores."""
        ids, real, _ = padded_rows(batch.text, self.pad)
        more: dict[str, Tensor] = {}
        if self.config.family in COUNTS_ON:
            places = torch.arange(ids.shape[1], device=ids.device) + self.network.config.pad_token_id + 1
            more["position_ids"] = places.expand_as(ids)
        found = self.network.base_model(input_ids=ids, attention_mask=real.long(), **more)
        return self.with_bias_columns(self._head(found))

    def _head(self, found: Any) -> Float[Tensor, "segments dim"]:
        network, first = self.network, found.last_hidden_state[:, 0]
        match self.config.family:
            case "bert":
                return network.dropout(found.pooler_output)
            case "distilbert":
                return network.dropout(nn.functional.relu(network.pre_classifier(first)))
            case _:
                head = network.classifier
                return head.dropout(torch.tanh(head.dense(head.dropout(first))))

    @property
    def output_layer(self) -> nn.Linear:
        """What scores the labels."""
        head = self.network.classifier
        return head if isinstance(head, nn.Linear) else head.out_proj

    @property
    def output_bias(self) -> Float[Tensor, "rows"] | None:
        """The bias of the labels, which is trained like all else."""
        return self.output_layer.bias

    @property
    def blocks(self) -> tuple[nn.Module, ...]:
        """The layers."""
        return tuple(layers_of(self.network))

    def tokens_read(self, batch: Texts) -> dict[str, int]:
        """How many real tokens of a batch each stack of layers reads, by the stack's name."""
        return {"encoder": batch.num_tokens}

    def wrongly_tied(self) -> str:
        """Nothing is tied in a classifier."""
        return ""


def layers_of(network: Any) -> nn.ModuleList:
    """The layers of an encoder."""
    inner = network.base_model
    return inner.transformer.layer if hasattr(inner, "transformer") else inner.encoder.layer


def keep_layers(network: Any, config: TransformersModel) -> None:
    """Freezes the embeddings and all layers but the last `trained_layers`; InputError for more than there are."""
    count = config.trained_layers
    if count is None:
        return
    layers = list(layers_of(network))
    if count > len(layers):
        raise input_error(
            "model.trained_layers: more than the model has",
            got=f"{count} of {len(layers)} layers",
            allowed=f"0 to {len(layers)}; all weights are trained where it is left out",
            fix=f"set `model.trained_layers: {len(layers)}`, or leave it out",
        )
    for module in (network.base_model.embeddings, *layers[: len(layers) - count]):
        module.requires_grad_(False)
