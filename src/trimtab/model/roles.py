"""What each weight of a model is for: what learning rates by role, such as muP's, and weight decay are chosen by.

It knows this package's models, and answers for any module tree: Hugging Face models, adapters, routers, convolutions.
"""

import re

from torch import nn

from trimtab.config.optimizers import Role

NORM = re.compile(r"(^|_)(norm|ln|layer_?norm|rms_?norm)", re.IGNORECASE)
EMBEDDING = re.compile(r"embed|^wte$|^wpe$|positions$|(^|_)tokens?$", re.IGNORECASE)
LORA_B = re.compile(r"(^|\.)lora_[bB](\.|$)")
OUTPUTS = {"output", "lm_head", "to_logits", "embed_out", "output_projection", "classifier", "score"}
"""Modules outside the layers that score what is predicted."""
VECTORS = {"bias", "gain", "gamma", "beta"}


def role_of(name: str, *, module: nn.Module | None = None, ndim: int | None = None) -> Role:
    """The role of a parameter, by its name in `named_parameters`, and where they are known by the module that owns it
    and by its number of dimensions, which decide before the name does.

    A gain or a bias is a `vector`. A matrix that is tied to the output has the name of an embedding, and is one.
    The second matrices of adapters (`lora_B`) are `lora_b`; their first ones, routers and convolutions are `hidden`, as
    every weight is that is nothing else.
    """
    path, _, own = name.rpartition(".")
    *outer, part = path.split(".")
    if own in VECTORS or NORM.search(part) or (ndim is not None and ndim < 2):
        return "vector"
    if LORA_B.search(path):
        return "lora_b"
    if part in OUTPUTS and not any(each.isdigit() for each in outer):
        return "output"
    if isinstance(module, nn.Embedding):
        return "embedding"
    if module is not None and own == "weight":
        return "hidden"
    return "embedding" if EMBEDDING.search(part) or EMBEDDING.search(own) else "hidden"


def role_in(model: nn.Module, name: str) -> Role:
    """The role of a parameter of this model. Raises AttributeError if it has none of that name."""
    path, _, _ = name.rpartition(".")
    return role_of(name, module=model.get_submodule(path), ndim=model.get_parameter(name).ndim)
