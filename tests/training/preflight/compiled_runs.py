"""Compiles small runs as a GPU's are and counts; in a process of its own, since checks of types cannot be compiled.

    python -m tests.training.preflight.compiled_runs FOLDER

Blocks go through backends that need no compiler, one of them right and the others wrong.
"""

import copy
import json
import sys
from functools import partial
from pathlib import Path

import torch
from torch._dynamo.utils import counters

from tests.language_run import PAIRS, language_parts
from tests.small_run import small_parts
from trimtab.choices import shape_for
from trimtab.tasks.program import as_trained, plainly
from trimtab.tasks.text.validation_scores import loss_of
from trimtab.training.preflight import every_check, preflight
from trimtab.types import TrainState

RUNS = {
    "translation": (small_parts, {"model.layers": 2}),
    "pairs as text, without dropout": (
        language_parts,
        {**PAIRS, "model.prefix": "bidirectional", "model.dropout": 0.0},
    ),
}
WRONG = {
    "looks at other tokens": lambda out: out + out.mean(0, keepdim=True) if out.ndim == 2 else out,
    "loses gradients": lambda out: out.detach(),
}
"""What a compiler might make of an output of a block."""


def main(folder):
    told = {"runs": {}, "wrong": {}}
    for name, run in RUNS.items():
        told["runs"][name] = counted(partial(compiled, *run), folder / name)
    for name, change in WRONG.items():
        parts = compiled(small_parts, {}, folder / name, backend=wrong(change))
        told["wrong"][name] = sorted({each.code for each in preflight(parts)})
    told["stances"] = stances(compiled(small_parts, {}, folder / "stances"))
    print(json.dumps(told))


def compiled(small, changes, folder, *, backend="eager"):
    """Parts like those of a compiled run on a GPU, packs of one shape; nothing was compiled before."""
    torch._dynamo.reset()
    counters.clear()
    parts = small(folder, **changes)
    parts.batching.shape = shape_for(parts.recipe, parts.datasets.lengths, packed=True)
    plain, torch.compile = torch.compile, partial(torch.compile, backend=backend)
    try:
        parts.model.compile_blocks()
    finally:
        torch.compile = plain
    return parts


def wrong(change):
    """A backend that changes what floating-point numbers come out."""

    def backend(graph, inputs, **options):
        return lambda *given: tuple(
            change(out) if isinstance(out, torch.Tensor) and out.is_floating_point() else out
            for out in graph(*given)
        )

    return backend


def counted(fresh, folder):
    """Graphs of a run alone and of one with checks before it, whether their weights are the same, and which checks
    compile."""
    told, parts = {}, fresh(folder / "alone")
    weights = trained(parts)
    told["alone"] = graphs()
    parts = fresh(folder / "checked")
    told["findings"], told["by_check"] = [], {}
    for check in every_check.of_the_model(parts):
        before = graphs()
        told["findings"] += [str(each) for each in every_check.run_check(check, parts)]
        told["by_check"][check.__name__] = graphs() - before
    same = trained(parts)
    told["same_weights"] = all(torch.equal(same[name], weight) for name, weight in weights.items())
    for valid in parts.datasets.valid.values():
        loss_of(parts, copy.deepcopy(parts.model).eval(), valid)  # a GPU evaluates a copy
    told["checked"] = graphs()
    return told


def trained(parts, *, steps=2):
    """The weights after some steps, with dropout as in a run."""
    state, stream = TrainState(), parts.stream.batches(0)
    parts.model.train()
    for _, (_, packs) in zip(range(steps), stream, strict=False):
        parts.stepper.begin(state)
        parts.stepper.take_step(packs, learning_rate=1e-2)
        state.step += 1
    stream.close()
    return {name: weight.detach().clone() for name, weight in parts.model.named_parameters()}


def stances(parts):
    """Graphs after a pass in each stance."""
    sample, told = parts.datasets.sample, {}
    pack = next(parts.batching.pack_pairs(sample.source, sample.target))
    try:
        with plainly():
            parts.stepper.objective(pack)
            raise KeyError
    except KeyError:
        told["plainly"] = graphs()
    with plainly(), as_trained():
        parts.stepper.objective(pack)
        told["as trained"] = graphs()
    with torch.no_grad():
        parts.stepper.objective(pack)  # a stance that stayed would compile nothing
    told["afterwards"] = graphs()
    return told


def graphs():
    return counters["stats"]["unique_graphs"]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
