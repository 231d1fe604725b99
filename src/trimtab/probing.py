"""Trains a few steps of the largest batches that can come, in a process of its own, and compares their memory with the
plan.

A process of its own, since a recorded step that failed keeps its memory until the process ends
(github.com/pytorch/pytorch/issues/190348).
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trimtab.errors import InputError, RunFailed, TrimtabError, input_error
from trimtab.fit.ask import changes_after_running_out
from trimtab.fit.gpus import described
from trimtab.fit.memory_size import in_gib

WARM_STEPS, STEPS = 3, 2
"""A step is recorded after three; only those after them are measured."""
ANSWER = "PROBED "
NAMES = ("allocated", "reserved", "driver")


def probe(recipe: Path, overrides: Sequence[str], *, as_json: bool = False) -> str:
    """What was planned and what was measured, as text or JSON.

    Raises InputError where the recipe is wrong or there is no GPU, and RunFailed where the process ended without an
    answer.
    """
    command = [sys.executable, "-m", "trimtab.probing", str(recipe), *overrides]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    answers = [line for line in done.stdout.splitlines() if line.startswith(ANSWER)]
    if not answers and done.returncode == InputError.exit_code:
        raise input_error(
            "--probe: the recipe could not be probed",
            got="the error above",
            allowed="a recipe and a machine with which `trimtab train` begins",
            fix="mend what it says, or leave --probe out",
        )
    if not answers:
        raise RunFailed(f"the probe ended with exit code {done.returncode}; what it said is above")
    found: dict[str, Any] = json.loads(answers[-1].removeprefix(ANSWER))
    return json.dumps(found, indent=2) + "\n" if as_json else as_text(found)


def as_text(found: dict[str, Any]) -> str:
    """A line for each figure, planned beside measured."""
    lines = [f"{found['recipe']} on {found['gpu']}: {found['steps']} steps of the largest batches", ""]
    for name in NAMES:
        planned, measured = found["planned"][name], found["measured"].get(name)
        if measured is None:
            lines.append(f"  {name:<10} planned {in_gib(planned):>12}")
            continue
        off = planned / measured - 1
        lines.append(
            f"  {name:<10} planned {in_gib(planned):>12}   measured {in_gib(measured):>12}   {off:+.1%}"
        )
    if found["out_of_memory"]:
        lines += ["", f"memory ran out: {found['out_of_memory']}"]
        if found["changes"]:
            lines.append(f"what may fit: {found['changes']}")
    return "\n".join(lines) + "\n"


# In the process of its own


def main(arguments: Sequence[str]) -> int:
    """Probes a recipe with overrides and prints the answer on one line."""
    try:
        _answer(Path(arguments[0]), arguments[1:])
    except TrimtabError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    return 0


def _answer(path: Path, overrides: Sequence[str]) -> None:
    import torch

    if not torch.cuda.is_available():
        raise input_error(
            "--probe: needs a GPU",
            got="none that PyTorch can use",
            allowed="a GPU of NVIDIA on this machine",
            fix="leave --probe out, and name the GPU that you mean: `--gpu rtx-4090`",
        )
    sys.stdout.write(ANSWER + json.dumps(probed(path, overrides)) + "\n")


def probed(path: Path, overrides: Sequence[str]) -> dict[str, Any]:
    """Builds the run and takes its largest steps; the plan is that of the recipe with everything chosen."""
    import torch

    from trimtab.build import build
    from trimtab.config.load import load_recipe
    from trimtab.config.paths import resolve_paths
    from trimtab.data.loader import prepare_workers
    from trimtab.device import choose_device, set_arithmetic
    from trimtab.progress import Silent
    from trimtab.tasks.task_of import open_datasets
    from trimtab.training.preflight.memory import gpu_of, is_out_of_memory, plan_of

    recipe, device = resolve_paths(load_recipe(path, overrides)), choose_device()
    gpu = gpu_of(device) if device.type == "cuda" else described("CPU", 1.0, 9.0)
    measured: dict[str, int] = {}
    ran_out, parts = "", None
    with tempfile.TemporaryDirectory() as folder:
        datasets = open_datasets(recipe, tokenizer_folder=Path(folder) / "tokenizer", progress=Silent())
        prepare_workers(recipe.data)
        set_arithmetic(recipe)
        try:
            parts = build(recipe, datasets, device=device)
            recipe = parts.recipe
            measured = largest_steps(parts)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            ran_out = (str(error).splitlines() or [type(error).__name__])[0]
        plan = plan_of(recipe, gpu)
    if parts is not None and device.type == "cuda" and not ran_out:
        free, total = torch.cuda.mem_get_info(device)
        measured["driver"] = total - free
    return {
        "recipe": path.name,
        "gpu": gpu.name,
        "steps": WARM_STEPS + STEPS,
        "planned": {name: getattr(plan, name) for name in NAMES},
        "measured": measured,
        "out_of_memory": ran_out,
        "changes": changes_after_running_out(recipe, gpu) if ran_out else "",
    }


def largest_steps(parts: Any) -> dict[str, int]:
    """Takes steps whose micro-batches are as full as they can be; gives the peaks of those after the first ones, of
    which a CPU has none. The weights move, so that nothing is trained after it."""
    import torch

    cuda = parts.device.type == "cuda"
    full = parts.examples.fullest().to(parts.device)
    batches = [full] * parts.batching.num_batches
    parts.model.train()
    for number in range(WARM_STEPS + STEPS):
        if cuda and number == WARM_STEPS:
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        parts.stepper.reseed(number)
        parts.stepper.take_step(batches, learning_rate=0.0)
    if not cuda:
        return {}
    torch.cuda.synchronize()
    return {"allocated": torch.cuda.max_memory_allocated(), "reserved": torch.cuda.max_memory_reserved()}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
