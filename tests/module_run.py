"""A run of four steps from a pretrained model of transformers in `base` beside its recipe, and the same run again from
its middle."""

import shutil
from pathlib import Path

import torch
from safetensors.torch import load_file

import trimtab

SHORT = {
    "data.max_tokens": 20,
    "length": "4 steps",
    "evaluate": {"every": "4 steps", "lines": 4},
    "checkpoint": {"every": "2 steps"},
    "step.optimizer.learning_rate": 1e-3,
    "step.schedule": {"kind": "constant"},
    "model": {"kind": "pretrained", "path": "base"},
}


def again_from_the_middle(run: Path, copy: Path, recipe: Path) -> None:
    """The run, its last checkpoint taken away and made again, has the same weights."""
    shutil.copytree(run, copy)
    shutil.rmtree(copy / "checkpoints" / "step-00000004")
    shutil.rmtree(recipe.parent / "base")  # its files are needed once
    trimtab.train(recipe, out=copy, resume=True)
    ours, others = (load_file(each / "checkpoints/step-00000004/model.safetensors") for each in (run, copy))
    assert ours.keys() == others.keys()
    assert all(torch.equal(ours[name], others[name]) for name in ours)
