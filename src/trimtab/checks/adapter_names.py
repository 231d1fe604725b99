"""What the names of modules say that adapters are put on."""

from collections.abc import Iterable

from trimtab.checks.description import Description

EMBEDDINGS = frozenset(
    {
        "embed_tokens",
        "wte",
        "word_embeddings",
        "shared",
        "embed_in",
        "tok_embeddings",
        "embedding",
        "embeddings",
    }
)
"""Last parts of the names of input embeddings."""
HEADS = frozenset({"lm_head", "embed_out", "output_layer", "output_projection"})
"""Last parts of the names of output embeddings."""
ATTENTION = frozenset(
    {
        "q_proj", "k_proj", "v_proj", "o_proj", "out_proj", "qkv_proj", "W_pack", "Wqkv", "c_attn", "query_key_value",
        "query", "key", "value", "q", "k", "v", "o", "q_lin", "k_lin", "v_lin", "out_lin", "in_proj",
    }
)  # fmt: skip
"""Last parts of the names of attention's projections."""
LOW_RANK = frozenset({"lora", "qlora", "adalora", "dora"})


def last_part(name: str) -> str:
    """`q_proj` of `model.layers.0.self_attn.q_proj`."""
    return name.rpartition(".")[2]


def names_in(names: Iterable[object] | None, wanted: frozenset[str]) -> list[str]:
    """The names whose last part is one of these."""
    return [name for name in names or () if isinstance(name, str) and last_part(name) in wanted]


def is_low_rank(run: Description) -> bool:
    """Whether the run trains a low-rank adapter."""
    return run.value("adapter") in LOW_RANK
