"""What `trimtab fit` plans beside what a GPU measures: 36 recipes, each in a process of its own for a few steps.

    python benchmarks/fit_planned.py --out results/fit_planned.json          # one GPU, under 9 minutes on an H200
    python benchmarks/fit_planned.py --tiny --out tiny.json                  # tries it on a CPU, with tiny sizes
    python benchmarks/fit_planned.py --again --out results/fit_planned.json  # plans anew what was measured, on any CPU

A step compiles and records where its shape is new, so steps are taken until one shape has been recorded and launched
(`fit_steps.py`). `plain` has the peaks of the steps from the third one to the first recording, `steady` those
of steps of known shapes, the cache emptied before either. Measured are the most that was allocated from the third step
on, the most that was reserved in `plain` and in `steady`, the driver's figure for the GPU, which nothing else may use
meanwhile, and the peaks of a whole evaluation after them: the loss of the validation set, and its translations. What a
plain step of a further shape reserves beside recordings is in `warm` alone: they make room for it where it does not
fit.

Half of the first 24 recipes, drawn by the names alone, are for the constants of `trimtab/fit/constants.py`; the other
half and the 12 recipes with settings that save memory judge them. What the file already has is not measured again:
where the time is over, start the same command once more.
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

from fit_planned_one import as_numbers
from fit_recipes import CALIBRATING, RECIPES, RUNGS, prepared, recipe_file

from trimtab.config.load import load_recipe
from trimtab.fit.gpus import find_gpu, first_shown, local_gpu
from trimtab.fit.plan import plan_recipe, plan_run

AHEAD = 3
"""Processes that import and read data while another one measures."""
LEFT_S = 480.0
"""Recipes that have not begun by then are left out, and named."""
NAMES = [*RUNGS, *RECIPES]
ONE = Path(__file__).with_name("fit_planned_one.py")


def started(name, folder, args):
    command = [sys.executable, str(ONE), name, str(folder)]
    return subprocess.Popen(
        [*command, *(["--tiny"] if args.tiny else [])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def finished(process):
    """What a process found, and the memory of the GPU that the driver calls used while it was there."""
    found, before = None, used()
    for line in process.stdout:
        if line.startswith("READY"):
            process.stdin.write("GO\n")
            process.stdin.flush()
        elif line.startswith("MEASURED "):
            found = json.loads(line.removeprefix("MEASURED "))
            found["nvidia_smi_mib"] = {"before": before, "after": used()}
            process.stdin.write("END\n")
            process.stdin.flush()
        else:
            print(line, end="", flush=True)
    process.wait()
    return found or {"error": f"ended with {process.returncode} and told nothing"}


def used():
    """MiB of the GPU in use, by nvidia-smi; None where there is none."""
    try:
        asked = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
        asked += ["-i", first_shown() or "0"]
        return int(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()[0])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return None


def compared(found):
    """Planned over measured, for the eye."""
    if "measured" not in found:
        return {}
    plan = found["resolved"]
    told = {}
    for key in ("allocated", "reserved"):
        told[key] = round(plan[key] / found["measured"][key] - 1, 4)
    if found.get("driver_in_use"):
        told["driver"] = round(plan["driver"] / found["driver_in_use"] - 1, 4)
        if whole := evaluation_of(found):
            told["evaluation"] = round(plan["evaluation"] / whole - 1, 4)
    told["speed"] = round(plan["tokens_per_second"] / found["tokens_per_second"] - 1, 3)
    return told


def evaluation_of(found):
    """The driver's bytes at the peak of an evaluation: what is reserved, and what CUDA had beside it before."""
    told = found["evaluation"].values()  # numbers alone in a result with one pass in place of an evaluation
    reserved = max((each["reserved"] for each in told if isinstance(each, dict)), default=0)
    return reserved and reserved + found["driver_in_use"] - found["reserved_then"]


def planned_anew(args):
    """Plans of what a file says was measured, by the code as it is now, with the slots that the runs had."""
    found = json.loads(Path(args.out).read_text())
    gpu = find_gpu("h200")
    with (
        tempfile.TemporaryDirectory() as place,
        patch("trimtab.fit.planned_run.torch_casts_rms_norm", lambda: False),
    ):
        prepared(Path(place), small=False)
        for name, arm in found["arms"].items():
            if "slots" not in arm:  # it ended before its first step
                continue
            loaded = load_recipe(recipe_file(name, Path(place), small=False))
            plan = plan_recipe(loaded.recipe, loaded.folder, gpu)
            slots = replace(plan.run.slots, **arm["slots"], targets=arm["slots"]["target"])
            arm["resolved"] |= as_numbers(plan_run(replace(plan.run, slots=slots)), gpu)
            arm["planned_over_measured"] = compared(arm)
            print(f"{name:<44}", arm["half"], arm["planned_over_measured"])
    written(found, args.out)


def written(result, out):
    """Writes the file anew."""
    Path(out).parent.mkdir(parents=True, exist_ok=True)
    Path(out).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", default="fit_planned.json")
    parser.add_argument("--tiny", action="store_true", help="sizes for a CPU")
    parser.add_argument("--only", nargs="+", choices=sorted(NAMES), help="some of the recipes")
    parser.add_argument("--again", action="store_true", help="plan anew what is in the file")
    parser.add_argument("--seconds", type=float, default=LEFT_S, help="after which no recipe begins")
    args = parser.parse_args()
    if args.again:
        planned_anew(args)
    else:
        measured_all(args)


def measured_all(args):
    """Each recipe that the file does not have yet, one after another."""
    import torch
    from record import about

    begun = time.perf_counter()
    # Nothing in this process may open a context on the GPU, whose memory would be counted.
    result = {**about("planned and measured memory", torch.device("cpu")), "calibrating": CALIBRATING}
    result |= {"card": getattr(local_gpu(), "name", "CPU"), "arms": {}}
    if Path(args.out).is_file():
        result["arms"] = json.loads(Path(args.out).read_text())["arms"]
    names = [
        each for each in args.only or NAMES if result["arms"].get(each, {"error": "missing"}).get("error")
    ]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        prepared(folder, small=args.tiny)
        waiting = [(name, started(name, folder, args)) for name in names[:AHEAD]]
        for number in range(len(names)):
            name, process = waiting.pop(0)
            late = time.perf_counter() - begun > args.seconds
            if number + AHEAD < len(names) and not late:
                following = names[number + AHEAD]
                waiting.append((following, started(following, folder, args)))
            if late:
                process.kill()
                process.wait()
            else:
                found = finished(process)
                found["half"] = "calibrating" if name in CALIBRATING else "judging"
                found["planned_over_measured"] = compared(found)
                result["arms"][name] = found
                seconds = round(time.perf_counter() - begun, 1)
                print(name, found["planned_over_measured"], found.get("error", ""), seconds, flush=True)
            result["seconds"] = round(time.perf_counter() - begun, 1)
            result["left_out"] = [each for each in args.only or NAMES if each not in result["arms"]]
            written(result, args.out)
            if not waiting:
                break


if __name__ == "__main__":
    main()
