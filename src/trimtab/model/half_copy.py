"""A model in half precision beside the one that is trained."""

import copy

import torch

from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.kinds import Model


def half_copy(model: Model, dtype: torch.dtype) -> Model:
    """A copy with weights in half precision; angles of rotary positions keep theirs."""
    narrow = copy.deepcopy(model).to(dtype)
    narrow.target_turns = model.target_turns
    if isinstance(model, EncoderDecoder) and isinstance(narrow, EncoderDecoder):
        narrow.source_turns = model.source_turns
    return narrow
