"""Which parameters are decayed."""

from torch import nn


def parameter_groups(model: nn.Module) -> tuple[dict[str, nn.Parameter], dict[str, nn.Parameter]]:
    """Named parameters with weight decay (matrices of linear maps and convolutions) and without (embeddings, norms,
    biases).

    Tied parameters appear once, under their first name. Every trainable parameter is in exactly one group.
    """
    embeddings = {id(m.weight) for m in model.modules() if isinstance(m, nn.Embedding)}
    decayed: dict[str, nn.Parameter] = {}
    plain: dict[str, nn.Parameter] = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            matrix = parameter.ndim >= 2 and id(parameter) not in embeddings
            (decayed if matrix else plain)[name] = parameter
    return decayed, plain
