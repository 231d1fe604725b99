"""The tensors of a GGUF file of Llama's architecture under their names in transformers, in float32."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from trimtab.errors import input_error

OF_MODEL = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
OF_LAYER = {
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
"""Names of GGUF and of transformers."""
ROTATED = {"attn_q": "head_count", "attn_k": "head_count_kv"}
"""Maps whose rows are in another order, each with the setting that counts their heads."""


@dataclass(frozen=True, slots=True)
class GgufWeights:
    """See `model.pretrained.Weights`."""

    files: tuple[Path, ...]
    tensors: dict[str, Any]
    """What the library gives for each, by its name in transformers."""
    heads: dict[str, int]
    """Heads of what is rotated, by the ending of its name there."""

    @classmethod
    def open(cls, path: Path) -> "GgufWeights":
        """The tensors of a file, none of which is read yet. Raises InputError where the library is not installed or
        cannot read the file."""
        gguf = require_gguf()
        try:
            reader = gguf.GGUFReader(path)
        except Exception as error:  # the library raises whatever numpy does on a damaged file
            raise input_error(
                f"{path}: not a GGUF file that can be read",
                got=" ".join(str(error).split())[:200] or type(error).__name__,
                fix="copy or download the file again",
            ) from None
        heads: dict[str, int] = {}
        for name, setting in ROTATED.items():
            field = reader.get_field(f"llama.attention.{setting}") or reader.get_field(
                "llama.attention.head_count"
            )
            heads[OF_LAYER[name]] = int(field.contents())
        return cls((path,), {name_of(each.name): each for each in reader.tensors}, heads)

    @property
    def names(self) -> frozenset[str]:
        """All tensors."""
        return frozenset(self.tensors)

    def read(self, name: str) -> tuple[Tensor, str]:
        """See `model.pretrained.Weights`; what is quantized is multiplied out."""
        stored = self.tensors[name]
        numbers = require_gguf().quants.dequantize(stored.data, stored.tensor_type)
        tensor = torch.from_numpy(numbers.copy()).float()
        own = ".".join(name.split(".")[3:5])
        if own in self.heads:
            tensor = in_halves(tensor, heads=self.heads[own])
        return tensor, stored.tensor_type.name.lower()


def in_halves(weight: Tensor, *, heads: int) -> Tensor:
    """The rows of each head in the order of transformers, where the pairs that are rotated together are a half apart;
    GGUF has them side by side."""
    pairs = weight.unflatten(0, (heads, -1, 2))
    return pairs.transpose(1, 2).flatten(0, 2)


def name_of(name: str) -> str:
    """The name in transformers; one that is unknown stays as it is, and is reported as left over."""
    if name in OF_MODEL:
        return OF_MODEL[name]
    block, _, rest = name.partition(".")
    number, _, rest = rest.partition(".")
    part, _, kind = rest.rpartition(".")
    return f"model.layers.{number}.{OF_LAYER[part]}.{kind}" if block == "blk" and part in OF_LAYER else name


def require_gguf() -> Any:
    """The library that multiplies quantized numbers out; InputError if it is not installed."""
    try:
        import gguf
    except ModuleNotFoundError as error:
        if error.name != "gguf":
            raise
        raise input_error(
            "GGUF files need the package gguf, which is not installed",
            got="no gguf",
            allowed="gguf 0.17 or newer",
            fix='pip install "trimtab[pretrained]"',
        ) from None
    return gguf
