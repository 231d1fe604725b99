"""A base whose vocabulary has grown, and an adapter that would leave the new rows as they are."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from trimtab.config.complaint import Complaint
from trimtab.config.pretrained.place import where_it_is
from trimtab.config.run import Recipe
from trimtab.config.transformers_model import TransformersModel
from trimtab.config.warm_start import group, runs_named

FIGURES = "vocabulary.json"
"""What `trimtab vocabulary` writes beside a model that it has changed; no run or export has it."""
MOST_BYTES = 1_000_000


def untrained_rows(recipe: Recipe, *, folder: Path) -> Iterator[Complaint]:
    """A complaint where an adapter begins from a model that `trimtab vocabulary extend` wrote and freezes its
    embeddings. A recipe that a run has recorded is left as it is."""
    model = recipe.model
    begun = getattr(model, "sha256", None) or getattr(model, "warm_start_sha256", None)
    if recipe.adapter is None or recipe.adapter.embeddings == "train" or begun is not None:
        return
    name = model.pretrained_path or str(getattr(model, "warm_start", None) or "")
    if not name:
        return
    places = [where_it_is(name, folder=folder)] if model.pretrained_path else [*runs_named(name, folder)]
    added = next((count for place in places if (count := _added(place / FIGURES))), 0)
    if added:
        can_train = not isinstance(model, TransformersModel)
        yield Complaint(
            path="adapter.embeddings",
            what="the model has rows that nothing has trained, and an adapter leaves them as they are",
            got=f"frozen, with {added:,} new pieces in {name}",
            allowed="train"
            if can_train
            else "training of all weights, as an adapter on this model trains no rows",
            fix="set `adapter.embeddings: train`"
            if can_train
            else f"remove `adapter` and train all weights; if they were trained since, remove {FIGURES} from {name}",
        )


def _added(path: Path) -> int:
    """How many pieces the file says were added."""
    try:
        with path.open("rb") as file:
            told: Any = json.loads(file.read(MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return 0
    if not isinstance(told, dict) or cast("dict[str, Any]", told).get("action") != "extend":
        return 0
    sides: Mapping[str, Any] = group(told, "vocabularies")
    counts = [group(sides, side).get("added") for side in sides]
    return sum(count for count in counts if isinstance(count, int) and count > 0)
