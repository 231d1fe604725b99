"""An exported language model as its users have it: tokenizer, logits and `generate` of transformers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from trimtab.export.hf.library import open_tokenizer, quiet


class OpenedText:
    """What `from_pretrained` makes of a folder, on the CPU in float32; see `export.target.ContinuesPrompts`."""

    def __init__(self, folder: Path, network: Any = None) -> None:
        """`network` is the model where it is not in the folder itself, as that of an adapter."""
        self.network: Any = _model_in(folder) if network is None else network
        self.network.float().eval()
        self.tokenizer = open_tokenizer(folder)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """What the tokenizer gives for each text."""
        return self.tokenizer(list(texts))["input_ids"]

    def decode(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """What the tokenizer makes of each row."""
        return self.tokenizer.batch_decode([list(row) for row in rows], skip_special_tokens=True)

    @torch.inference_mode()
    def logits(self, rows: Sequence[Sequence[int]]) -> list[Float[Tensor, "tokens vocabulary"]]:
        """The logits after each token of each row."""
        longest = max(map(len, rows))
        pad = self.network.generation_config.pad_token_id or 0
        ids = torch.tensor([[*row, *[pad] * (longest - len(row))] for row in rows])
        mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
        found = self.network(input_ids=ids, attention_mask=mask).logits.float()
        return [logits[: len(row)] for logits, row in zip(found, rows, strict=True)]

    @torch.inference_mode()
    def continued(self, prompt: Sequence[int], *, limit: int) -> list[int]:
        """What `generate` writes after a prompt with the settings of the folder, the end symbol included."""
        ids = torch.tensor([list(prompt)])
        with quiet():
            written = self.network.generate(
                input_ids=ids, attention_mask=torch.ones_like(ids), max_new_tokens=limit
            )
        return written[0, len(prompt) :].tolist()


def _model_in(folder: Path) -> Any:
    from transformers import AutoModelForCausalLM

    with quiet():
        return AutoModelForCausalLM.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False, use_safetensors=True
        )
