"""What each weight of a model is for, by its name: what a learning rate by role, such as muP's, is chosen by."""

from trimtab.config.optimizers import Role

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


def role_of(name: str) -> Role:
    """The role of a parameter of either model, by its name in `named_parameters`.

    A gain or a bias is a `vector`. A tied matrix has the name of an embedding, and is one. Raises KeyError for a part
    that nobody has given a role.
    """
    part, _, kind = name.rpartition(".")
    if kind == "bias" or part.rpartition(".")[2].startswith("norm"):
        return "vector"
    return ROLES[".".join(part.split(".")[3:]) if ".blocks." in part else part]
