"""The settings that `trimtab fit` proposes beside the best that trying finds: six recipes that do not fit as written.

    python benchmarks/fit_proposals.py --out results/fit_proposals.json      # one H200, two calls under 9 minutes
    python benchmarks/fit_proposals.py --tiny --out tiny.json                # tries it on a CPU, with tiny sizes

Each recipe has a limit on its memory, which a limit on PyTorch's allocator imitates, and for which the planner has the
rates of the GPU that measures. Tried are the proposal and, for each combination of `step.recompute` and
`step.gradients`, which leave the updates as they are, the largest micro-batch that fits: beginning with one that is
planned to be a tenth too large, then halves. A setting fits if its steps and an evaluation after them do. Each try is a
process of its own, and only one has the GPU; what the file already has is not tried again.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from fit_planned import evaluated
from fit_recipes import pairs, prepared, text, tiny, with_paths
from fit_steps import Steps

from trimtab.config.load import load_recipe
from trimtab.fit.ask import open_subject
from trimtab.fit.climb import cheapest_climb
from trimtab.fit.gpus import find_gpu, local_gpu
from trimtab.fit.plan import plan_recipe
from trimtab.fit.speed import speed_of

OTHER_STEPS, TIMED_STEPS = 6, 8
"""Steps of any shapes, which have to fit beside what is recorded, and of known ones."""
AHEAD = 3
"""Processes that import and read data while another one has the GPU."""
LEFT_S = 470.0
TOO_LARGE = 1.1
"""Of the limit, up to which a planned peak is tried."""
CASES = {
    "lm small": (4.0, text(32768, model={"preset": "small"}, vocabulary=16000, compiled=True)),
    "lm base": (12.0, text(16384, model={"preset": "base"}, longest=1024, compiled=True)),
    "lm base, launched": (12.0, text(16384, model={"preset": "base"}, longest=1024, recorded=False)),
    "lm big": (40.0, text(16384, model={"preset": "big"}, longest=2048, compiled=True)),
    "mt base": (4.0, pairs(16384, preset="base", compiled=True, cuda_graph="auto")),
    "mt big": (8.0, pairs(16384, preset="big", compiled=True, cuda_graph="auto")),
}
"""GiB that CUDA offers, and a recipe."""
TINY_GIB = 0.9
COMBINATIONS = [
    (recompute, gradients)
    for gradients in ("kept", "released")
    for recompute in ("none", "feed_forward", "block")
]


def card(name, *, small):
    """The GPU of this machine with the memory of a case."""
    gib = TINY_GIB if small else CASES[name][0]
    return replace(local_gpu() or find_gpu("h200"), memory_gib=gib)


def proposal(name, folder, *, small):
    """The overrides that `trimtab fit` proposes; None where it proposes nothing."""
    subject = open_subject(file_of(name, folder))
    gpu = card(name, small=small)
    climb = cheapest_climb(subject.on(gpu))
    found = {"planned_as_written": subject.on(gpu).planned(subject.recipe).peak, "limit": gpu.memory}
    if climb is None:
        return None, found
    planned = {
        "peak": climb.plan.peak,
        "tokens_per_second": round(speed_of(climb.plan, gpu).tokens_per_second),
    }
    return [change.override for change in climb.changes], {**found, "proposed": planned}


def tries_of(name, folder, *, small):
    """For each combination, overrides from the largest micro-batch that may fit downwards."""
    path, gpu = file_of(name, folder), card(name, small=small)
    whole = load_recipe(path).recipe.step.tokens_per_step
    longest = load_recipe(path).recipe.data.max_tokens
    found = []
    for recompute, gradients in COMBINATIONS:
        sizes, tokens = [], whole
        while tokens >= longest:
            given = [f"step.recompute={recompute}", f"step.gradients={gradients}"]
            given.append(f"step.tokens_per_micro_batch={tokens}")
            if gradients == "released":
                given += ["step.cuda_graph=off"]
            loaded = load_recipe(path, given)
            if plan_recipe(loaded.recipe, loaded.folder, gpu).peak <= TOO_LARGE * gpu.memory:
                sizes.append(given)
            if gradients == "released":  # a step is one micro-batch
                break
            tokens //= 2
        if sizes:
            found.append(sizes[:4])
    return found


def file_of(name, folder):
    """The recipe as a file."""
    return folder / (name.replace(" ", "_").replace(",", "") + ".yaml")


def write_recipes(folder, *, small):
    """The recipes, their paths filled in."""
    for name, (_, tree) in CASES.items():
        tree = tiny(tree) if small else tree
        if small:  # two micro-batches fit where one does not
            tree["step"] |= {"tokens_per_step": 2048, "tokens_per_micro_batch": 2048}
        file_of(name, folder).write_text(with_paths(tree, folder), encoding="utf-8")


# What one process does


def one(given):
    """Opens the data, waits for its turn, and says on the last line how fast it was or that memory ran out."""
    import torch

    from trimtab.build import build, untrained_model
    from trimtab.config.paths import resolve_paths
    from trimtab.device import set_arithmetic
    from trimtab.probing import limited
    from trimtab.progress import Silent
    from trimtab.tasks.task_of import open_datasets, task_of
    from trimtab.training.preflight.memory import is_out_of_memory

    recipe = resolve_paths(load_recipe(Path(given["file"]), given["overrides"]))
    cuda = torch.cuda.is_available()
    folder = Path(given["file"]).parent / f"{os.getpid()}_tokenizer"
    datasets = open_datasets(recipe, tokenizer_folder=folder, progress=Silent())
    task = task_of(recipe)
    ready = [
        untrained_model(task, task.resolve_sizes(recipe, datasets), datasets, device=torch.device("cpu"))
    ]
    print("READY", flush=True)
    sys.stdin.readline()
    set_arithmetic(recipe)
    found = {"overrides": given["overrides"], "out_of_memory": None}
    if cuda:
        limited(torch.device("cuda", 0), given["memory"])
    try:
        with patch("trimtab.build.untrained_model", lambda *_, device: ready.pop().to(device)):
            parts = build(recipe, datasets)
        found |= timed(parts, cuda=cuda)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        found["out_of_memory"] = str(error).splitlines()[0][:200]
    print("RESULT " + json.dumps(found), flush=True)
    os._exit(0)


def timed(parts, *, cuda):
    """Tokens per second of steps whose shapes have been compiled and recorded, and then an evaluation, for which there
    has to be room."""
    import torch

    steps = Steps(parts)
    steps.warm_up()
    for _ in range(OTHER_STEPS):
        steps.take()
    batches = steps.known(TIMED_STEPS)
    seconds = steps.seconds(batches)
    tokens = sum(batch.num_tokens for some in batches for batch in some)
    found = {"tokens_per_second": round(tokens / seconds)}
    found["shapes"] = sorted(steps.taken.values(), reverse=True)
    if cuda:
        graphs = parts.stepper.graphs
        found["reserved"] = torch.cuda.max_memory_reserved()
        found["not_recorded"] = None if graphs is None else graphs.given_up
    found["evaluation"] = evaluated(parts)
    return found


# What the first process does


def started(name, folder, overrides, *, small):
    """A process that prepares a try."""
    given = {
        "file": str(file_of(name, folder)),
        "overrides": overrides,
        "memory": card(name, small=small).memory,
    }
    return subprocess.Popen(
        [sys.executable, __file__, "--one", json.dumps(given)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def finished(process):
    """What the process found."""
    found = None
    for line in process.stdout:
        if line.startswith("READY"):
            process.stdin.write("GO\n")
            process.stdin.flush()
        elif line.startswith("RESULT "):
            found = json.loads(line.removeprefix("RESULT "))
        else:
            print(line, end="", flush=True)
    process.wait()
    return found or {"out_of_memory": None, "failed": f"ended with {process.returncode}"}


def key_of(overrides):
    """A try by what it sets; what a recipe has anyway is left out."""
    usual = ("step.recompute=none", "step.gradients=kept")
    return " ".join(sorted(each for each in overrides if each not in usual))


def tried(name, folder, arm, queue, *, small, ends):
    """Works through a queue of lists, each from the largest size downwards: what ran out of memory is followed by the
    next in its list. Processes for the next lists prepare meanwhile."""
    queue = [list(each) for each in queue]
    going = []

    def fill():
        while queue and len(going) < AHEAD and time.perf_counter() < ends:
            sizes = queue.pop(0)
            while sizes and key_of(sizes[0]) in arm["tries"]:
                known = arm["tries"][key_of(sizes[0])]
                sizes = sizes[1:] if known.get("out_of_memory") else []
            if sizes:
                going.append((sizes, started(name, folder, sizes[0], small=small)))

    fill()
    while going:
        sizes, process = going.pop(0)
        if time.perf_counter() > ends:
            process.kill()
            process.wait()
            continue
        found = finished(process)
        arm["tries"][key_of(sizes[0])] = found
        print(name, "|", key_of(sizes[0]), {k: v for k, v in found.items() if k != "overrides"}, flush=True)
        if found["out_of_memory"] and len(sizes) > 1:
            queue.insert(0, sizes[1:])
        fill()
    return not queue


def judged(arm):
    """The proposal's speed as a share of the best try's."""
    rates = {
        key: each["tokens_per_second"] for key, each in arm["tries"].items() if "tokens_per_second" in each
    }
    if not rates:
        return {}
    best = max(rates, key=rates.__getitem__)
    mine = rates.get(arm["proposal"])
    return {
        "best": best,
        "best_tokens_per_second": rates[best],
        "share_of_best": mine and round(mine / rates[best], 3),
    }


def main():
    """Parses the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", default="fit_proposals.json")
    parser.add_argument("--tiny", action="store_true", help="sizes for a CPU")
    parser.add_argument("--only", nargs="+", choices=sorted(CASES))
    parser.add_argument("--seconds", type=float, default=LEFT_S, help="after which no try begins")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        one(json.loads(args.one))
        return
    import torch
    from record import about

    began = time.perf_counter()
    result = {**about("proposed settings and the best that trying finds", torch.device("cpu")), "arms": {}}
    result["card"] = getattr(local_gpu(), "name", "CPU")
    if Path(args.out).is_file():
        result["arms"] = json.loads(Path(args.out).read_text())["arms"]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        prepared(folder, small=args.tiny)
        write_recipes(folder, small=args.tiny)
        for name in args.only or CASES:
            wanted, planned = proposal(name, folder, small=args.tiny)
            arm = result["arms"].setdefault(name, {"tries": {}})
            arm |= planned | {"proposal": None if wanted is None else key_of(wanted)}
            queue = [[wanted]] if wanted is not None else []
            queue += tries_of(name, folder, small=args.tiny)
            arm["complete"] = tried(name, folder, arm, queue, small=args.tiny, ends=began + args.seconds)
            arm |= judged(arm)
            result["seconds"] = round(time.perf_counter() - began, 1)
            Path(args.out).parent.mkdir(parents=True, exist_ok=True)
            Path(args.out).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
            shown = ("proposal", "best", "share_of_best", "complete")
            print(name, {key: arm.get(key) for key in shown}, result["seconds"], flush=True)


if __name__ == "__main__":
    main()
