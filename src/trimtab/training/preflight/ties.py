"""Whether embeddings are tied as the recipe says, when they are built and after weights were loaded; and whether
loading brings every weight back."""

import copy
from collections.abc import Iterator

import torch

from trimtab.finding import Finding
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.transformer import Transformer
from trimtab.run_findings.built_parts import TIED_WEIGHTS_APART, WEIGHTS_LOST_IN_LOADING
from trimtab.tasks.examples import Checked
from trimtab.training.preflight.weights import named


def weights_survive_loading(parts: Checked) -> Iterator[Finding]:
    """A copy of the model, emptied, into which the model's weights are loaded as a checkpoint's are."""
    tied = parts.recipe.model.tie_embeddings
    if apart := untied(parts.model, tied):
        yield not_tied(apart, tied, when="")
        return
    again = copy.deepcopy(parts.model)
    with torch.no_grad():
        for weight in again.parameters():
            weight.zero_()
    again.load_state_dict(parts.model.state_dict())
    if apart := untied(again, tied):
        yield not_tied(apart, tied, when=" after weights were loaded")
    loaded = dict(again.named_parameters())
    lost = [
        name
        for name, weight in parts.model.named_parameters()
        if name not in loaded or not torch.equal(weight, loaded[name])
    ]
    if lost:
        yield WEIGHTS_LOST_IN_LOADING.found(
            f"loaded from the model's own weights, {named(lost)} is not what it was"
        )


def untied(model: Transformer, tied: str | bool) -> str:
    """Which matrices are not tied as said; empty if all are."""
    target = model.embedding.weight.data_ptr()
    if not isinstance(model, EncoderDecoder):
        as_said = (model.output_matrix.data_ptr() == target) == tied
        return "" if as_said else "the output matrix and the embeddings"
    source = model.embedding if model.source_embedding is None else model.source_embedding
    if (model.output_matrix.data_ptr() == target) != (tied in ("all", "decoder")):
        return "the output matrix and the target's embeddings"
    if (source.weight.data_ptr() == target) != (tied == "all"):
        return "the embeddings of source and target"
    return ""


def not_tied(matrices: str, tied: str | bool, *, when: str) -> Finding:
    """The finding for these matrices."""
    return TIED_WEIGHTS_APART.found(f"{matrices} are not what tie_embeddings: {str(tied).lower()} says{when}")
