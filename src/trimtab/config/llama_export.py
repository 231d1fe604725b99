"""Which language models Llama's arithmetic, or that of Qwen3, computes exactly, and what stands in the way of others.

LlamaForCausalLM has rotary positions, RMSNorm before each sub-layer and behind the last, a gated feed-forward block,
shared heads of keys and values, and biases in all linear maps or in none. Qwen3ForCausalLM adds what `qk_norm` is, one
RMSNorm for all heads of queries and one for those of keys, and has no biases in its feed-forward blocks. (OLMo 2 norms
the queries of all heads as one vector, and behind the sub-layers.)
"""

from collections.abc import Iterator

from trimtab.config.decoder_model import DecoderModel
from trimtab.config.positions import Rotary
from trimtab.errors import Problem

GATED = ("swiglu", "geglu")


def llama_obstacles(model: DecoderModel) -> Iterator[Problem]:
    """A problem for each key that neither class can express, with the values that could be exported."""
    wanted = {"positions": Rotary.kind, "norm": "rms", "norm_position": "before", "prefix": "causal"}
    for key, value in wanted.items():
        if (got := getattr(model, key)) != value:
            yield _refused(key, got, value)
    if model.activation not in GATED:
        yield _refused("activation", model.activation, " or ".join(GATED))
    if model.qk_norm and model.bias:
        yield _refused("bias", "true, with qk_norm: true", "false, or qk_norm: false")


def _refused(key: str, got: str, allowed: str) -> Problem:
    return Problem(
        what=f"model.{key}: neither LlamaForCausalLM nor Qwen3ForCausalLM computes this exactly",
        got=got,
        allowed=allowed,
        fix=f"train with another `model.{key}` to export for hf",
    )
