"""Whether a new adapter leaves the model as it is."""

from collections.abc import Iterator

import torch

from trimtab.finding import Finding
from trimtab.model.lora import without_adapter
from trimtab.run_findings.built_parts import ADAPTER_CHANGES_BASE
from trimtab.step.precision import autocast
from trimtab.tasks.examples import Checked

MOST = 1e-3
"""Of a hidden vector's largest number: what rounding may change in half precision, where DoRA adds a product."""


def adapter_begins_as_base(parts: Checked) -> Iterator[Finding]:
    """Looks at a model whose adapter has learned nothing yet, its second matrices being zero; one that goes on is
    passed over."""
    named = dict(parts.model.named_parameters())
    if not parts.model.begins_zero or any(named[name].any() for name in parts.model.begins_zero):
        return
    parts.model.eval()
    batch = parts.examples.few()
    with torch.no_grad(), autocast(parts.precision, parts.device):
        found = parts.model(batch).float()
        with without_adapter(parts.model):
            base = parts.model(batch).float()
    differs, most = float((found - base).abs().max()), float(base.abs().max())
    if not differs <= MOST * most:
        yield ADAPTER_CHANGES_BASE.found(
            f"with the new adapter a hidden vector differs by {differs:.2g} from that of the base, whose largest "
            f"number is {most:.2g}"
        )
