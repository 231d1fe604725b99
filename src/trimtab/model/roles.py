"""What each weight of a model is for, by its name: what a rate by role, such as muP's, is chosen by."""

from typing import Literal

Role = Literal["embedding", "hidden", "output", "vector"]
"""`embedding`: looked up by a number, so that its rows grow with the width alone. `hidden`: a matrix of a linear map,
both sides of which grow with the width. `output`: from the width to the vocabulary. `vector`: a gain or a bias. In muP
(arXiv 2203.03466, table 8) Adam's rate of hidden matrices falls as 1 / width, and what an output gives is divided by
it; the rates of the other two stay. A tied matrix is an `embedding`, and its output is scaled where it is used."""

ROLES: dict[str, Role] = {
    "embedding": "embedding",
    "source_embedding": "embedding",
    "source_positions": "embedding",
    "target_positions": "embedding",
    "output": "output",
    "attention.qkv": "hidden",
    "attention.out": "hidden",
    "cross.q": "hidden",
    "cross.kv": "hidden",
    "cross.out": "hidden",
    "feed_forward.up": "hidden",
    "feed_forward.down": "hidden",
}
"""By the name of the part, without the number of its layer."""

WRITERS = frozenset({"attention.out", "cross.out", "feed_forward.down"})
"""Parts that write to the residual path."""


def role_of(name: str) -> Role:
    """The role of a parameter of either model, by its name in `named_parameters`."""
    part, _, kind = name.rpartition(".")
    if kind == "bias" or part.rpartition(".")[2].startswith("norm"):
        return "vector"
    return ROLES[part_of(name)]


def part_of(name: str) -> str:
    """The name of the part that a parameter belongs to: `decoder.blocks.3.attention.qkv.weight` is of
    `attention.qkv`."""
    part = name.rpartition(".")[0]
    return ".".join(part.split(".")[3:]) if ".blocks." in part else part
