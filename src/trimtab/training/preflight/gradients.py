"""Whether the loss reaches every weight, and whether the optimizer holds each weight once."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from trimtab.finding import Finding
from trimtab.run_findings.built_parts import WEIGHT_FROZEN, WEIGHT_WITHOUT_GRADIENT
from trimtab.run_findings.preflight import OPTIMIZER_OF_OTHER_TENSORS
from trimtab.step.released_steps import each_gradient
from trimtab.tasks.examples import Checked
from trimtab.tasks.program import SEED, as_trained
from trimtab.training.preflight.weights import named


def every_weight_learns(parts: Checked) -> Iterator[Finding]:
    """One backward pass of the program that trains; embeddings are looked at where they are looked up too, since as the
    output matrix they have a gradient in any case."""
    frozen = [
        name
        for name, weight in parts.model.named_parameters()
        if not weight.requires_grad and name not in parts.model.frozen
    ]
    if frozen:
        yield WEIGHT_FROZEN.found(f"{named(frozen)} cannot be trained, and no setting of the recipe says so")
    parts.model.train()
    torch.manual_seed(SEED)
    pack = parts.examples.few()
    trained = {name: weight for name, weight in parts.model.named_parameters() if weight.requires_grad}
    reached = dict.fromkeys(trained, False)

    def look(name: str, weight: nn.Parameter) -> None:
        reached[name] = arrives(weight.grad)

    with lookups(parts.model) as looked_up, as_trained(), each_gradient(trained, look):
        parts.stepper.objective(pack).objective.backward()
    for name, tensor in looked_up:  # more than once, where one matrix is looked up on both sides
        reached[name] = reached.get(name, True) and arrives(tensor.grad)
    missing = [name for name, arrived in reached.items() if not arrived]
    if missing:
        yield WEIGHT_WITHOUT_GRADIENT.found(
            f"no gradient, or one that is zero or not finite, reaches {named(missing)}"
        )


def arrives(gradient: torch.Tensor | None) -> bool:
    """Whether there is a gradient, finite and not all zero."""
    return gradient is not None and bool(gradient.isfinite().all()) and bool(gradient.any())


@contextmanager
def lookups(model: nn.Module) -> Iterator[list[tuple[str, torch.Tensor]]]:
    """Collects what embeddings that can be trained give inside; each keeps its gradient."""
    found: list[tuple[str, torch.Tensor]] = []

    def keep(name: str) -> object:
        def hook(module: nn.Module, inputs: object, output: torch.Tensor) -> None:
            if output.requires_grad:
                output.retain_grad()
                found.append((f"{name} where it is looked up", output))

        return hook

    tables = [(name, module) for name, module in model.named_modules() if isinstance(module, nn.Embedding)]
    handles = [module.register_forward_hook(keep(name)) for name, module in tables]
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()


def optimizer_has_the_weights(parts: Checked) -> Iterator[Finding]:
    """By identity: a copy has the same values, and moving it trains nothing."""
    weights = {id(weight): name for name, weight in parts.model.named_parameters() if weight.requires_grad}
    moved = Counter(id(tensor) for tensor in parts.stepper.optimizer.parameters)
    said = []
    if strange := sum(count for tensor, count in moved.items() if tensor not in weights):
        said.append(f"{strange} of its {moved.total()} tensors are not the model's to train")
    if missing := [name for tensor, name in weights.items() if tensor not in moved]:
        said.append(f"it lacks {named(missing, of=len(weights))}")
    if twice := [weights[tensor] for tensor, count in moved.items() if count > 1 and tensor in weights]:
        said.append(f"it has more than once {named(twice)}")
    if said:
        yield OPTIMIZER_OF_OTHER_TENSORS.found(
            f"the optimizer does not hold each weight of the model once: {'; '.join(said)}"
        )
