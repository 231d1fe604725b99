"""What a command's first seconds are spent on: `train`, `evaluate`, `translate` and `generate` from the shell.

    python benchmarks/first_second.py --out result.json [--limit 150] [--device cpu] [--parts train,evaluate]

Trains a small translator on the text that ships with trimtab, with `--steps` steps of the base preset, and translates
1,813 lines of that text. All caches (trimtab's, Triton's, the compiler's) are folders of this run: empty for the first
command, filled for those after it.

- `train`, `train_again`, `train_compiled`: seconds until the run says its first step, and all of it;
- `evaluate`: seconds of wall time of the whole command, `evaluate_again` with caches that are filled;
- `stages`: the same work in one process, stage by stage: imports, device, weights, translating twice, loss, metrics;
  and the functions that the first pass spends its time in; `train_stages`: the same of twelve steps.
"""

import argparse
import cProfile
import io
import json
import lzma
import os
import pstats
import re
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

HERE = Path(__file__).parent
LINES, FUNCTIONS_TOLD = 1813, 45


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("--limit", type=float, default=150, help="seconds after which no part begins")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--preset", default="base")
    parser.add_argument("--steps", type=int, default=400, help="of the translator that is evaluated")
    parser.add_argument("--lines", type=int, default=LINES)
    parser.add_argument("--parts", help="in this order; all of them by default")
    parser.add_argument(
        "--stages", nargs=3, metavar=("RUN", "SOURCE", "REFERENCE"), help="used by the script"
    )
    parser.add_argument("--train-stages", metavar="OUT", help="used by the script")
    args = parser.parse_args()
    if args.stages:
        print(json.dumps(stages(*args.stages)))
        return
    if args.train_stages:
        print(json.dumps(train_stages(args)))
        return
    from record import Record

    record = Record(args.out, question="what the first seconds of commands are spent on", device=args.device)
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        environment(place, args)
        source, reference = lines_of_text(place, args.lines)
        run = place / "run"
        works = {
            "train": partial(trained, args, run, args.steps),
            "evaluate": partial(evaluated, run, source, reference),
            "stages": partial(child, "--stages", str(run), source, reference),
            "train_stages": partial(child, "--train-stages", str(place / "staged")),
            "train_compiled": partial(trained, args, place / "on", 12, "step.compile=on"),
            "train_again": partial(trained, args, place / "again", 12),
            "train_compiled_again": partial(trained, args, place / "on_again", 12, "step.compile=on"),
            "evaluate_again": partial(evaluated, run, source, reference),
            "stages_again": partial(child, "--stages", str(run), source, reference),
        }
        for part in args.parts.split(",") if args.parts else works:
            if time.perf_counter() - begun < args.limit:
                record.arm(part, works[part])


def environment(place, args):
    caches = {
        "TRIMTAB_CACHE": "trimtab",
        "TRITON_CACHE_DIR": "triton",
        "TORCHINDUCTOR_CACHE_DIR": "inductor",
        "CUDA_CACHE_PATH": "cuda",
    }
    os.environ.update({name: str(place / "caches" / folder) for name, folder in caches.items()})
    if args.device == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["FIRST_SECOND_RECIPE"] = json.dumps(settings(args))


def settings(args, steps=12):
    if args.preset == "tiny":
        sizes = ["model.preset=tiny"]
    else:
        sizes = [
            f"model.preset={args.preset}",
            "step.tokens_per_step=8192",
            "step.tokens_per_micro_batch=8192",
        ]
    return [
        *sizes,
        f"length={steps} steps",
        f"step.schedule.warmup={max(1, steps // 4)} steps",
        f"evaluate.every={steps} steps",
        f"checkpoint.every={steps} steps",
    ]


def lines_of_text(place, count):
    """Source and reference files; lines of the training text, since the speed alone is of interest."""
    with lzma.open(HERE.parent / "src/trimtab/demo/data/train.tsv.xz", "rt", encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line, _ in zip(file, range(count), strict=False)]
    paths = []
    for column, name in enumerate(("source", "reference")):
        paths.append(place / f"{name}.txt")
        paths[-1].write_text("".join(f"{row[column]}\n" for row in rows), encoding="utf-8")
    return map(str, paths)


def command(*words):
    return [sys.executable, "-m", "trimtab", *words]


def trained(args, run, steps, *more):
    recipe = HERE.parent / "recipes/demo.yaml"
    words = command("train", str(recipe), "--out", str(run), *settings(args, steps), *more)
    begun, lines, first = time.perf_counter(), [], None
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        for line in process.stdout:
            lines.append(f"{time.perf_counter() - begun:.2f} {line.rstrip()}"[:200])
            if first is None and re.match(r"step +1\b", line):
                first = time.perf_counter() - begun
    if process.returncode:
        raise RuntimeError("\n".join(lines[-12:]))
    whole = time.perf_counter() - begun
    return {"first_step_told_s": first and round(first, 2), "whole_s": round(whole, 2), "said": lines[:14]}


def evaluated(run, source, reference):
    begun = time.perf_counter()
    words = command("evaluate", str(run), "--source", source, "--reference", reference, "--json")
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-800:])
    told = json.loads(done.stdout)
    return {
        "wall_s": round(time.perf_counter() - begun, 2),
        "told": told,
        "said": done.stderr.splitlines()[-4:],
    }


def child(*words):
    """This script again in a process of its own."""
    begun = time.perf_counter()
    given = [sys.executable, __file__, "--out", "-", *words]
    done = subprocess.run(given, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-1200:])
    return {**json.loads(done.stdout.splitlines()[-1]), "wall_s": round(time.perf_counter() - begun, 2)}


# In a process of its own.


class Marks:
    """Seconds of one stage after another."""

    def __init__(self):
        self.last, self.found = time.perf_counter(), {}

    def __call__(self, name):
        now = time.perf_counter()
        self.found[name] = round(now - self.last, 3)
        self.last = time.perf_counter()


def begin_device(torch, mark):
    """Makes the context of the GPU, where there is one."""
    if torch.cuda.is_available():
        torch.zeros(1, device="cuda")
        torch.cuda.synchronize()
    mark("device")


def stages(run, source, reference):
    """What `trimtab evaluate` does, and a second pass."""
    mark = Marks()
    import torch

    mark("import torch")
    import trimtab.cli.app  # noqa: F401

    mark("import the command line")
    from trimtab.decode.search import Search
    from trimtab.evaluation.translations import reference_loss
    from trimtab.inference import open_model

    mark("import evaluation and inference")
    begin_device(torch, mark)
    model = open_model(run)
    mark("weights and tokenizer")
    translator = model.translator(search=Search(beam=4))
    mark("translator")
    sources, references = (
        Path(each).read_text(encoding="utf-8").splitlines() for each in (source, reference)
    )
    profile = cProfile.Profile()
    outputs = profile.runcall(translator.translate, sources)
    mark("translate, first pass (under the profiler)")
    recordings = getattr(getattr(translator.setup, "model", None), "recordings", None)
    told = {
        "recordings": len(getattr(recordings, "graphs", ())),
        "plain": sum(getattr(recordings, "counts", {}).values()),
    }
    translator.translate(sources)
    mark("translate, second pass")
    reference_loss(model, sources, references)
    mark("loss of the references")
    reference_loss(model, sources, references)
    mark("loss of the references, again")
    import sacrebleu

    mark("import sacrebleu")
    sacrebleu.corpus_bleu(outputs, [references])
    sacrebleu.corpus_chrf(outputs, [references])
    mark("BLEU and chrF")
    return {"stages_s": mark.found, **told, "functions": slowest(profile)}


def train_stages(args):
    """What `trimtab train` does, with the functions that it spends its time in."""
    mark = Marks()
    import torch

    mark("import torch")
    from trimtab.launch import train

    mark("import launch")
    begin_device(torch, mark)
    profile = cProfile.Profile()
    recipe = HERE.parent / "recipes/demo.yaml"
    overrides = json.loads(os.environ["FIRST_SECOND_RECIPE"])
    profile.runcall(train, recipe, overrides=overrides, out=args.train_stages)
    mark("train 12 steps (under the profiler)")
    return {"stages_s": mark.found, "functions": slowest(profile)}


def slowest(profile):
    """Of trimtab and torch, by their own time and with what they call."""
    found = {}
    for order in ("tottime", "cumulative"):
        text = io.StringIO()
        pstats.Stats(profile, stream=text).sort_stats(order).print_stats(FUNCTIONS_TOLD)
        rows = [line.strip() for line in text.getvalue().splitlines() if re.match(r"\s*\d", line)]
        found[order] = [re.sub(r"\S*/(site-packages|src)/", "", row)[:150] for row in rows]
    return found


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    main()
