"""`/health`: whether the server works, what it serves, and what it has done so far."""

from dataclasses import asdict, dataclass
from typing import Any

from trimtab import __version__
from trimtab.serving.answers import json_answer
from trimtab.serving.batcher import Batcher
from trimtab.serving.connection import Answer
from trimtab.serving.counters import Counters
from trimtab.serving.limits import ServeLimits
from trimtab.serving.models import Served, ServedTranslator


@dataclass(frozen=True, slots=True)
class About:
    """What does not change while a server runs."""

    name: str
    """What the model is called."""
    limits: ServeLimits


def health_answer(
    model: Served, about: About, *, batcher: Batcher, counters: Counters, is_stopping: bool
) -> Answer:
    """A JSON object; `status` is `ok`, or `stopping` where running requests are finished and new ones refused."""
    value = {
        "status": "stopping" if is_stopping else "ok",
        "model": about.name,
        "kind": model.kind,
        "version": __version__,
        **_of_the_model(model),
        "queue": {"waiting": batcher.num_waiting, "allowed": about.limits.max_queue},
        **counters.to_dict(),
        "limits": asdict(about.limits),
    }
    return json_answer(value)


def _of_the_model(model: Served) -> dict[str, Any]:
    if isinstance(model, ServedTranslator):
        return {"tags": list(model.tags)}
    return {"window": model.generator.window}
