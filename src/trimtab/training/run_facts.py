"""`facts.json` of a run: what is known when it begins and ends, so that a report needs nothing but the run folder."""

import json
import os
import platform
import sys
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import torch

from trimtab.checkpoint.durable import replace_file
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.errors import DiskFull, RunFailed
from trimtab.tasks.examples import Checked
from trimtab.training.preflight.memory import measured_bytes, planned_bytes

MOST_BINS = 24


def note_beginning(run: RunFolder, parts: Checked) -> None:
    """Writes down the machine, the command, the first examples and the planned memory, in place of what was there."""
    if run.writes:
        planned = planned_bytes(parts)
        _write(
            run,
            {
                "machine": machine(parts.device),
                "command": [os.path.basename(sys.argv[0]), *sys.argv[1:]],
                "examples": examples(parts),
                **({"memory": {"planned": planned}} if planned else {}),
                **({"trained": [each._asdict() for each in trained(parts)]} if parts.recipe.freeze else {}),
            },
        )


class Trained(NamedTuple):
    """What is trained from one step of a run on."""

    step: int
    """The first, counted from 1."""
    weights: int
    parameters: int
    """Numbers in them."""

    def __str__(self) -> str:
        return f"from step {self.step:,} on {self.weights:,} weights, {self.parameters:,} parameters"


def trained(parts: Checked) -> list[Trained]:
    """What the recipe does not freeze, from step to step."""
    unfreezing = parts.stepper.unfreezing
    if unfreezing is not None:
        return [Trained(*each) for each in unfreezing.described()]
    sizes = [weight.numel() for weight in parts.model.parameters() if weight.requires_grad]
    return [Trained(1, len(sizes), sum(sizes))]


def note_end(run: RunFolder, parts: Checked) -> None:
    """Adds what was measured of a GPU's memory."""
    if run.writes and (measured := measured_bytes(parts.device)):
        facts = _read(run)
        facts["memory"] = {**facts.get("memory", {}), "measured": measured}
        _write(run, facts)


def machine(device: torch.device) -> dict[str, Any]:
    """What the run computes on."""
    found: dict[str, Any] = {
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "device": "CPU",
    }
    if device.type == "cuda":
        found |= {"device": torch.cuda.get_device_name(device), "cuda": str(torch.version.cuda)}
    return found


def examples(parts: Checked) -> dict[str, Any]:
    """Lengths and unknown tokens of the first examples of the stream, a side each, and what was dropped of them."""
    sample = parts.datasets.sample
    reasons = [each.reason for each in sample.dropped]
    return {
        "seen": int(sample.seen),
        "dropped": {reason: reasons.count(reason) for reason in sorted(set(reasons))},
        "sides": [
            {
                "name": side.name,
                "tokens": int(side.rows.values.size),
                "unknown": int((side.rows.values == side.tokenizer.unknown).sum()),
                **histogram(side.rows.lengths),
            }
            for side in parts.examples.sides()
        ],
    }


def histogram(lengths: np.ndarray) -> dict[str, Any]:
    """Counts of lengths in at most 24 bins of one width, with the median and the longest."""
    if not len(lengths):
        return {"bins": [], "width": 1, "median": 0, "longest": 0}
    longest = int(lengths.max())
    width = -(-(longest + 1) // MOST_BINS)
    return {
        "bins": np.bincount(lengths // width).tolist(),
        "width": width,
        "median": int(np.median(lengths)),
        "longest": longest,
    }


def _read(run: RunFolder) -> dict[str, Any]:
    try:
        found = json.loads(run.facts.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _write(run: RunFolder, facts: dict[str, Any]) -> None:
    with suppress(OSError, DiskFull, RunFailed):  # a run does not depend on it; its report shows less
        replace_file(run.facts, json.dumps(facts, indent=1, ensure_ascii=False).encode("utf-8", "replace"))
