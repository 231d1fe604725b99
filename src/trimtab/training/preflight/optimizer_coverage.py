"""Whether the optimizer moves the model's own tensors, each of them once."""

from collections import Counter
from collections.abc import Iterator

from trimtab.finding import Finding
from trimtab.run_findings.built_parts import OPTIMIZER_OF_OTHER_TENSORS
from trimtab.tasks.examples import Checked
from trimtab.training.preflight.weights import named


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
