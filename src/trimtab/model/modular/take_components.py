"""First weights of a modular model from another: component by component, embeddings piece by piece."""

import torch

from trimtab.config.modular_model import ModularModel
from trimtab.errors import InputError, Problem, input_error
from trimtab.model.modular.modular import Modular
from trimtab.model.warm_start import RowMap, mapped_rows

OWN = {
    *("preset", "warm_start", "warm_start_sha256", "directions", "encoder_components", "decoder_components"),
    *("encoder_layers", "decoder_layers", "embeddings", "mean_over", "kind"),
}
"""Settings that say which components there are, or how they are trained, and not what a layer computes."""
TABLES = ("embeddings.", "source_embeddings.", "outputs.")


@torch.no_grad()
def take_components(model: Modular, old: object, *, rows: RowMap, name: str) -> str:
    """Fills the components that the old model, whose name is for messages, has too; the others keep their first
    weights. Says which are taken, which are new, and which of the old ones are left out.

    Raises InputError where layers compute something else, or a component has another number of layers.
    """
    if not isinstance(old, Modular):
        raise input_error(
            f"model.warm_start: {name} is no modular model",
            got=type(old).__name__,
            allowed="a run with `model.kind: modular`",
            fix="name such a run, or train one that begins from nothing",
        )
    if problems := differences(old.config, model.config, name=name):
        raise InputError(*problems)
    here, there = dict(model.named_parameters()), dict(old.named_parameters())
    unlike = [
        key
        for key in here.keys() & there.keys()
        if not key.startswith(TABLES) and here[key].shape != there[key].shape
    ]
    if unlike:
        raise input_error(
            f"model.warm_start: weights of {name} have another shape",
            got=", ".join(sorted(unlike)[:3]),
            allowed="the same shape, as with the same data.max_tokens for learned positions",
            fix="set what differs as in that run",
        )
    taken = set[str]()
    for key, weight in here.items():
        if key not in there:
            continue
        found = mapped_rows(there[key], weight, rows) if key.startswith(TABLES) else there[key]
        weight.copy_(found)
        taken.add(model.component_of(key))
    new = [each for each in model.components if each not in taken]
    left = [each for each in old.components if each not in model.components]
    return (
        f"taken {', '.join(each for each in model.components if each in taken) or 'nothing'}"
        + (f"; new {', '.join(new)}" if new else "")
        + (f"; left out {', '.join(left)}" if left else "")
    )


def differences(old: ModularModel, new: ModularModel, *, name: str) -> list[Problem]:
    """Each setting that makes another layer of it, and each component of another depth."""
    found = [
        Problem(
            what=f"model.{key}: differs from the model to start from",
            got=str(getattr(new, key)),
            allowed=f"{getattr(old, key)}, as in {name}",
            fix="set it so, or remove `model.warm_start` to train from scratch",
        )
        for key in ModularModel.model_fields
        if key not in OWN and "dropout" not in key and getattr(old, key) != getattr(new, key)
    ]
    for side in ("encoder", "decoder"):
        before, after = old.components(side), new.components(side)
        found += [
            Problem(
                what=f"model.{side}_components.{component}: has another number of layers in the model to start from",
                got=str(after[component]),
                allowed=f"{before[component]}, as in {name}",
                fix="set it so, or give the component another name to train it from nothing",
            )
            for component in after
            if before.get(component, after[component]) != after[component]
        ]
    return found
