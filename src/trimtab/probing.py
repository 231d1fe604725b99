"""Trains a few steps of the largest batches that can come, in a process of its own, and compares their memory with the
plan.

A process of its own, since a recorded step that failed keeps its memory until the process ends
(github.com/pytorch/pytorch/issues/190348).
"""

import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trimtab.errors import InputError, RunFailed, TrimtabError, input_error, is_out_of_memory, ran_out
from trimtab.fit.ask import changes_after_running_out
from trimtab.fit.constants import CONTEXT_BYTES
from trimtab.fit.gpus import described
from trimtab.fit.memory_size import GIB, in_gib
from trimtab.host_memory import host_memory

if TYPE_CHECKING:
    import torch

WARM_STEPS, STEPS = 3, 2
"""A step is recorded after three; only those after them are measured."""
ANSWER = "PROBED "
NAMES = ("allocated", "reserved", "driver")


@dataclass(frozen=True, slots=True)
class Limit:
    """Where a probe runs."""

    memory: int | None = None
    """Bytes that it may take; None for what is free: of the GPU, or of the host where there is none."""
    needs_gpu: bool = True


def probe(recipe: Path, overrides: Sequence[str], *, as_json: bool = False) -> str:
    """What was planned and what was measured, as text or JSON.

    Raises InputError where the recipe is wrong or there is no GPU, and RunFailed where the process ended without an
    answer.
    """
    found = run_probe(recipe, overrides)
    return json.dumps(found, indent=2) + "\n" if as_json else as_text(found)


def run_probe(recipe: Path, overrides: Sequence[str], *, limit: Limit = Limit()) -> dict[str, Any]:
    """What `probed` gives, from a process of its own."""
    given = json.dumps({"recipe": str(recipe), "overrides": [*overrides], **asdict(limit)})
    command = [sys.executable, "-m", "trimtab.probing", given]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    answers = [line for line in done.stdout.splitlines() if line.startswith(ANSWER)]
    if not answers and done.returncode == InputError.exit_code:
        raise input_error(
            "the recipe could not be probed",
            got="the error above",
            allowed="a recipe and a machine with which `trimtab train` begins",
            fix="fix the reported problem, or plan without a probe: `trimtab fit RECIPE --gpu NAME`",
        )
    if not answers and done.returncode == -signal.SIGKILL:  # by the kernel, for its memory
        killed = {
            "recipe": recipe.name,
            "gpu": "CPU",
            "steps": WARM_STEPS + STEPS,
            "planned": {},
            "measured": {},
        }
        return {
            **killed,
            "limit": limit.memory or 0,
            "out_of_memory": "the process was killed",
            "changes": "",
        }
    if not answers:
        raise RunFailed(f"the probe ended with exit code {done.returncode}; what it said is above")
    found: dict[str, Any] = json.loads(answers[-1].removeprefix(ANSWER))
    return found


def as_text(found: dict[str, Any]) -> str:
    """A line for each figure, planned beside measured."""
    lines = [f"{found['recipe']} on {found['gpu']}: {found['steps']} steps of the largest batches", ""]
    for name in found["planned"]:
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
    """Probes what the one argument says, in JSON, and prints the answer on one line."""
    given = json.loads(arguments[0])
    try:
        limit = Limit(given["memory"], given["needs_gpu"])
        _answer(Path(given["recipe"]), given["overrides"], limit)
    except TrimtabError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    return 0


def _answer(path: Path, overrides: Sequence[str], limit: Limit) -> None:
    import torch

    if limit.needs_gpu and not torch.cuda.is_available():
        raise input_error(
            "--probe: needs a GPU",
            got="none that PyTorch can use",
            allowed="a GPU of NVIDIA on this machine",
            fix="leave --probe out, and name the GPU that you mean: `--gpu rtx-4090`",
        )
    sys.stdout.write(ANSWER + json.dumps(probed(path, overrides, limit=limit)) + "\n")


def limited(device: "torch.device", memory: int | None) -> int:
    """Keeps this process from taking more of a device's memory than that; gives the bytes that it may take. On a CPU it
    limits what the process allocates for itself, where the system can."""
    import torch

    if device.type == "cuda":
        free, total = torch.cuda.mem_get_info(device)
        most = free + CONTEXT_BYTES if memory is None else min(memory, total)
        torch.cuda.set_per_process_memory_fraction(min(1.0, max(1, most - CONTEXT_BYTES) / total), device)
        return most
    most = free_host_memory() if memory is None else memory
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (most, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    except (ImportError, ValueError, OSError):
        pass  # Windows has no such limit; the peak is compared anyway
    return most


def free_host_memory() -> int:
    """Bytes that a new process can take without swapping, in this container; a guess of 8 GiB where nothing says."""
    free = host_memory().free
    return 8 * GIB if free is None else max(1, free)


def used_memory(device: "torch.device") -> int:
    """Bytes of a GPU that are taken, by this process and by others; 0 for a CPU."""
    import torch

    if device.type != "cuda":
        return 0
    free, total = torch.cuda.mem_get_info(device)
    return total - free


def process_memory(device: "torch.device", *, before: int) -> dict[str, int]:
    """What is taken after the steps: `driver` of the whole GPU, `process` of this process alone, by what was taken
    before; on a CPU `process` is its resident memory at the peak, and nothing where the system does not say."""
    if device.type == "cuda":
        used = used_memory(device)
        return {"driver": used, "process": used - before + CONTEXT_BYTES}
    try:
        import resource
    except ImportError:
        return {}
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"process": size if sys.platform == "darwin" else 1024 * size}


def probed(path: Path, overrides: Sequence[str], *, limit: Limit | None = None) -> dict[str, Any]:
    """Builds the run and takes its largest steps; the plan is that of the recipe with everything chosen. With a `limit`
    this process never takes more again."""

    from trimtab.build import build
    from trimtab.config.load import load_recipe
    from trimtab.config.paths import resolve_paths
    from trimtab.data.loader import prepare_workers
    from trimtab.device import choose_device, set_arithmetic
    from trimtab.progress import Silent
    from trimtab.tasks.task_of import open_datasets
    from trimtab.training.first_weights import begin_from_weights
    from trimtab.training.preflight.memory import gpu_of, plan_of

    recipe, device = resolve_paths(load_recipe(path, overrides)), choose_device()
    gpu = gpu_of(device) if device.type == "cuda" else described("CPU", 1.0, 9.0)
    measured: dict[str, int] = {}
    timed: dict[str, float] = {}
    most = 0 if limit is None else limited(device, limit.memory)
    told, before = "", used_memory(device)
    with tempfile.TemporaryDirectory() as folder:
        datasets = open_datasets(recipe, tokenizer_folder=Path(folder) / "tokenizer", progress=Silent())
        prepare_workers(recipe.data)
        set_arithmetic(recipe)
        try:
            parts = build(recipe, datasets, device=device)
            begin_from_weights(parts, progress=Silent())
            recipe = parts.recipe
            measured = largest_steps(parts, timed)
            measured |= process_memory(device, before=before)
            parts.evaluation_model.copy()  # beside the model, as an evaluation has it
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            told = ran_out(error)
        try:
            plan = plan_of(recipe, gpu)
            planned = {name: getattr(plan, name) for name in NAMES}
        except InputError:
            if limit is None or limit.needs_gpu:  # `fit --probe` compares with the plan
                raise
            planned = {}
    return {
        "recipe": path.name,
        "gpu": gpu.name,
        "steps": WARM_STEPS + STEPS,
        "planned": planned,
        "measured": measured,
        **timed,
        "limit": most,
        "out_of_memory": told,
        "changes": changes_after_running_out(recipe, gpu) if told and planned else "",
    }


def largest_steps(parts: Any, timed: dict[str, float]) -> dict[str, int]:
    """Takes steps whose micro-batches are as full as they can be; gives the peaks of those after the first ones, of
    which a CPU has none, and puts their time into `timed`. The weights move, so that nothing is trained after it."""
    import torch

    cuda = parts.device.type == "cuda"
    full = parts.examples.fullest().to(parts.device)
    batches = [full] * parts.batching.num_batches
    parts.model.train()
    parts.stepper.train_weights_of(parts.recipe.last_unfreezing)
    began = time.perf_counter()
    for number in range(WARM_STEPS + STEPS):
        if cuda and number == WARM_STEPS:
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        began = time.perf_counter() if number == WARM_STEPS else began
        parts.stepper.reseed(number)
        parts.stepper.take_step(batches, learning_rate=0.0)
    if cuda:
        torch.cuda.synchronize()
    timed["seconds_per_step"] = (time.perf_counter() - began) / STEPS
    timed["tokens"] = full.num_tokens * len(batches)
    if not cuda:
        return {}
    return {"allocated": torch.cuda.max_memory_allocated(), "reserved": torch.cuda.max_memory_reserved()}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
