"""The tokenizer inside a GGUF file as the `tokenizer.json` of Hugging Face: byte-level BPE, as GPT-2 has it."""

from dataclasses import dataclass
from typing import Any

from trimtab.config.pretrained.gguf_header import GgufHeader
from trimtab.errors import input_error

GPT2, SMOLLM = "gpt-2", "smollm"
PRE_TOKENIZERS = {"default": GPT2, "gpt-2": GPT2, "smollm": SMOLLM}
"""How texts are cut before pieces are joined, by the name in the file."""
CONTROL, USER_DEFINED = 3, 4
"""Types of pieces."""


@dataclass(frozen=True, slots=True)
class GgufParts:
    """What a GGUF file holds of a tokenizer."""

    content: bytes
    """As tokenizer.json."""
    symbols: dict[str, int | None]
    """The ids of pad, unknown, start and end."""
    num_ids: int
    template: str
    """Of chats; empty if there is none."""


def gguf_parts(header: GgufHeader, *, name: str) -> GgufParts:
    """The tokenizer of a file; InputError where it is none that can be rebuilt exactly."""
    told = header.settings
    kind, cut = told.get("tokenizer.ggml.model"), told.get("tokenizer.ggml.pre", "default")
    if kind != "gpt2" or cut not in PRE_TOKENIZERS:
        raise input_error(
            f"{name}: the tokenizer in this GGUF file cannot be rebuilt exactly",
            got=f"{kind}, cut as by {cut}",
            allowed=f"gpt2, cut as by {', '.join(PRE_TOKENIZERS)}",
            fix="name the model's folder with tokenizer.json instead",
        )
    tokens = told["tokenizer.ggml.tokens"]
    kinds = told.get("tokenizer.ggml.token_type") or [1] * len(tokens)
    ids = {"pad": "padding", "unknown": "unknown", "start": "bos", "end": "eos"}
    return GgufParts(
        content=_built(told, tokens, kinds, PRE_TOKENIZERS[cut]),
        symbols={key: told.get(f"tokenizer.ggml.{word}_token_id") for key, word in ids.items()},
        num_ids=len(tokens),
        template=str(told.get("tokenizer.chat_template") or ""),
    )


def _built(told: dict[str, Any], tokens: list[str], kinds: list[int], cut: str) -> bytes:
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    merges = [tuple(each.split(" ", 1)) for each in told["tokenizer.ggml.merges"]]
    built = Tokenizer(models.BPE(vocab={token: id for id, token in enumerate(tokens)}, merges=merges))
    steps = [pre_tokenizers.Digits(individual_digits=True)] if cut == SMOLLM else []
    steps.append(pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True))
    built.pre_tokenizer = pre_tokenizers.Sequence(steps)
    built.decoder = decoders.ByteLevel()
    built.add_special_tokens(
        [
            AddedToken(token, special=kind == CONTROL, normalized=False)
            for token, kind in zip(tokens, kinds, strict=True)
            if kind in (CONTROL, USER_DEFINED)
        ]
    )
    return built.to_str().encode()
