"""Optimizer states in host memory on a GPU: are the updates the same bits, how fast are the copies, what do they save?

    python benchmarks/host_states.py --out results/host_states.json      # one GPU, about 3 minutes
    python benchmarks/host_states.py --tiny                              # tries it on a CPU

Three questions, in one process: (1) weights and states after some updates, with states on the GPU and on the host, with
one stream and released order; (2) bytes a second between page-locked memory and the GPU, one way and both at once; (3)
milliseconds of an update of many layers, and the GPU's memory, for both places and each precision of states.
"""

import argparse
import json
import time
from pathlib import Path

import torch
from torch import nn

from trimtab.config.optimizers import AdamW, StableAdamW
from trimtab.step.optimizer.build import build_optimizer
from trimtab.step.optimizer.host_states import copies

KINDS = {
    "float32": AdamW(),
    "8bit": AdamW(states="8bit"),
    "4bit": AdamW(states="4bit"),
    "4bit, stable": StableAdamW(states="4bit"),
}


def synchronize(device):
    """Waits for the GPU, where there is one."""
    if device.type == "cuda":
        torch.cuda.synchronize()


def layers(count, width, device, dtype):
    """Square matrices, with the same numbers each time."""
    torch.manual_seed(1)
    made = [nn.Linear(width, width, bias=True, device=device, dtype=dtype) for _ in range(count)]
    return nn.Sequential(*made)


def updated(kind, device, dtype, *, on_host, width, steps=4, order=1):
    """Weights and states after updates in the order of the parameters (1), or against it (-1)."""
    model = layers(6, width, device, dtype)
    made = build_optimizer(kind, model, by_tensor=True, on_host=on_host)
    for step in range(steps):
        generator = torch.Generator(device).manual_seed(step)
        torch.manual_seed(step)
        for each in model.parameters():
            each.grad = torch.randn(each.shape, generator=generator, device=device).to(dtype)
        skip = torch.tensor(step == 1, device=device)
        for name in list(made.named)[::order]:
            made.update_tensor(name, learning_rate=1e-3, skip=skip)
        made.after_update(skip=skip)
    return {**dict(model.named_parameters()), **made.state_tensors()}


def same_bits(device, width):
    """Whether both places give the same, for each kind, precision of weights and order."""
    found = {}
    for name, kind in KINDS.items():
        for dtype in (torch.float32, torch.bfloat16):
            for order in (1, -1):
                here, there = (
                    updated(kind, device, dtype, on_host=on_host, width=width, order=order)
                    for on_host in (False, True)
                )
                equal = all(torch.equal(here[key].cpu(), there[key].cpu()) for key in here)
                found[f"{name}, {str(dtype).removeprefix('torch.')}, order {order}"] = equal
    return found


def copy_rates(device, size):
    """Gigabytes a second to the GPU, from it, and both at once (each way)."""
    if device.type != "cuda":
        return {}
    host = [torch.empty(size, dtype=torch.uint8, pin_memory=True) for _ in range(2)]
    there = [torch.empty(size, dtype=torch.uint8, device=device) for _ in range(2)]
    streams = [copies(device), torch.cuda.Stream(device)]

    def timed(ways):
        times = []
        for _ in range(4):
            synchronize(device)
            began = time.perf_counter()
            for way in ways:
                with torch.cuda.stream(streams[way]):
                    target, source = (there[0], host[0]) if way == 0 else (host[1], there[1])
                    target.copy_(source, non_blocking=True)
            synchronize(device)
            times.append(time.perf_counter() - began)
        return round(size / min(times) / 1e9, 2)

    return {"to_gpu": timed([0]), "from_gpu": timed([1]), "both_each_way": timed([0, 1])}


def update_times(device, *, count, width):
    """Milliseconds of an update and bytes on the GPU, for both places."""
    found = {}
    for name, kind in KINDS.items():
        for on_host in (False, True):
            model = layers(count, width, device, torch.bfloat16)
            made = build_optimizer(kind, model, by_tensor=True, on_host=on_host)
            for each in model.parameters():
                each.grad = torch.randn_like(each)
            never, times = torch.zeros((), dtype=torch.bool, device=device), []
            if device.type == "cuda":
                torch.cuda.reset_peak_memory_stats()
            for _ in range(5):
                synchronize(device)
                began = time.perf_counter()
                made.update(learning_rate=1e-3, skip=never)
                synchronize(device)
                times.append(time.perf_counter() - began)
            states = sum(each.nbytes for each in made.state_tensors().values())
            row = {"milliseconds": round(1e3 * min(times[1:]), 2), "state_bytes": states}
            if device.type == "cuda":
                row["allocated_gib"] = round(torch.cuda.max_memory_allocated() / 2**30, 3)
            if on_host:
                row["gigabytes_per_second_each_way"] = round(states / min(times[1:]) / 1e9, 2)
            found[f"{name}, states on the {'host' if on_host else 'device'}"] = row
            del model, made
    return found


def main():
    """Parses the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path)
    parser.add_argument("--tiny", action="store_true", help="sizes for a CPU")
    given = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    small = given.tiny or device.type == "cpu"
    result = {
        "device": torch.cuda.get_device_name() if device.type == "cuda" else "CPU",
        "torch": torch.__version__,
        "same_bits": same_bits(device, 96 if small else 1536),
        "copies_gigabytes_per_second": copy_rates(device, 1 << 30),
        "updates": update_times(device, count=4 if small else 48, width=128 if small else 4096),
    }
    print(json.dumps(result, indent=1))
    if given.out:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if not all(result["same_bits"].values()):
        raise SystemExit("states on the host give other bits")


if __name__ == "__main__":
    main()
