"""Runs the experiments on a machine with a GPU and without a checkout or a network, over as many calls as it takes.

    python benchmarks/lab_on_gpu.py pack lab.tgz [RESULT ...] [--wheels DIR] [--only NAME ...]
    tar xf lab.tgz && cd trimtab && python benchmarks/lab_on_gpu.py run [NAME ...] --out lab.json --minutes 9 --jobs 10
    python benchmarks/lab_on_gpu.py unpack lab.json [RESULT ...]

`pack` takes what the other machine needs: the code, the corpora that the experiments read, the records of runs made
before (runs/lab, the results beside the experiments, and files that `run` wrote), and packages from a folder of wheels;
with --only, the corpora of these experiments alone.
`run` trains there what is missing, best value first (ORDER), writes `--out` after each run, whole or not at all, and
ends by itself after `--minutes`; the next call continues. `unpack` puts the records into runs/lab and finished results
beside their experiments. `run --scale tiny --device cpu --seeds 2` tries it without a GPU.
"""

import argparse
import io
import json
import os
import sys
import tarfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "site")]
# Workers inherit it: `trimtab` need not be installed there.
os.environ["PYTHONPATH"] = os.pathsep.join([*sys.path[:2], os.environ.get("PYTHONPATH", "")])

from trimtab.config.load import load_recipe  # noqa: E402
from trimtab.config.paths import resolve_paths  # noqa: E402
from trimtab.errors import TrimtabError  # noqa: E402
from trimtab.lab.experiment import load_experiment, names_in  # noqa: E402
from trimtab.lab.laboratory import Plan, place_of, run_experiments, take_runs  # noqa: E402
from trimtab.lab.pool import Cache  # noqa: E402
from trimtab.lab.result import commit, read_result, scores_of, write_result  # noqa: E402
from trimtab.lab.runs import recipe_of, runs_of  # noqa: E402
from trimtab.lab.table import described, table_of  # noqa: E402
from trimtab.lab.verdict import compare  # noqa: E402

EXPERIMENTS = ROOT / "experiments"
RUNS = Path("runs/lab")
ORDER = (
    # Arms beside the unchanged recipe, whose runs they share: 5 runs a verdict, then 10, then 15.
    "decoder_positions", "biases", "geglu", "tied_embeddings", "z_loss", "averaging_after_decay", "beta2", "clipping",
    "plain_sgd", "warm_up", "vocabulary_size",
    # A reference of their own: 10 runs a verdict, then more, or longer ones.
    "qk_norm", "averaging_at_a_constant_rate", "encoder_decoder", "relative_positions_collapse", "neftune",
    "norm_position", "position_schemes_en_ja", "position_schemes_en_de", "position_screen",
)  # fmt: skip
"""Most verdicts for the time first."""
SCRIPTS = ("lab_on_gpu", "parts_speed", "board", "board_peer", "record", "timed_run", "plain_progress")
"""Of the benchmarks, those that run there too."""
SLOW = ("alibi", "shaw", "t5")
"""First words of arms whose positions need padded rows: they take ten times as long; other arms can share the GPU."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(required=True)
    packing = commands.add_parser("pack")
    packing.add_argument("out", type=Path)
    packing.add_argument("--wheels", type=Path)
    packing.add_argument("--only", action="extend", nargs="+", default=[])
    packing.set_defaults(call=pack)
    running = commands.add_parser("run")
    running.add_argument("--out", type=Path, required=True)
    running.add_argument("--minutes", type=float)
    running.add_argument("--jobs", type=int, default=1)
    running.add_argument("--seeds", type=int)
    running.add_argument("--scale")
    running.add_argument("--device")
    running.add_argument("names", nargs="*")
    running.set_defaults(call=run)
    unpacking = commands.add_parser("unpack")
    unpacking.set_defaults(call=unpack)
    for each in (packing, unpacking):
        each.add_argument("results", type=Path, nargs="*")
    for each in (packing, running, unpacking):
        each.add_argument("--runs", type=Path, default=RUNS)
    args = parser.parse_args()
    return args.call(args)


def with_arms():
    """The experiments that train, those of ORDER first."""
    loaded = [load_experiment(EXPERIMENTS, name) for name in names_in(EXPERIMENTS)]
    trained = [each for each in loaded if each.experiment.script is None]
    rank = {name: number for number, name in enumerate(ORDER)}
    return sorted(trained, key=lambda each: (rank.get(each.name, len(rank)), each.name))


def take(paths, runs):
    """Records the runs of the results beside the experiments and of `paths`, which are results, or files of `run`."""
    loaded = {each.name: each for each in with_arms()}
    found = [read_result(each.result) for each in loaded.values() if each.result.is_file()]
    for path in paths:
        whole = json.loads(path.read_text())
        found += whole["results"].values() if "results" in whole else [read_result(path)]
    count = 0
    for result in found:
        each = loaded[result["experiment"]]
        planned = runs_of(each, scale=None if result["scale"] == each.experiment.scale else result["scale"])
        place = place_of(result["hardware"], result["versions"]["torch"])
        count += take_runs(result, each, planned, Cache(runs, place))
    said(f"{count} records from {len(found)} results")


def pack(args):
    take(args.results, args.runs)
    with tarfile.open(args.out, "w:gz") as tar:
        for path in ("src", "experiments", *(f"benchmarks/{name}.py" for name in SCRIPTS)):
            tar.add(ROOT / path, f"trimtab/{path}", filter=without_caches)
        for path in sorted(args.runs.glob("*.json")):
            tar.add(path, f"trimtab/{RUNS}/{path.name}")
        text = (commit() or "").encode()
        info = tarfile.TarInfo("trimtab/COMMIT")
        info.size = len(text)
        tar.addfile(info, io.BytesIO(text))
        for path in sorted(corpora(args.only)):
            tar.add(path, os.path.normpath(Path("trimtab") / os.path.relpath(path, ROOT)))
        for wheel in sorted(args.wheels.glob("*.whl")) if args.wheels else []:
            with zipfile.ZipFile(wheel) as opened:
                for name in opened.namelist():
                    info = tarfile.TarInfo(f"trimtab/site/{name}")
                    info.size, info.mode = opened.getinfo(name).file_size, 0o755
                    tar.addfile(info, io.BytesIO(opened.read(name)))
    said(f"{args.out}, {args.out.stat().st_size / 1e6:.1f} MB")
    return 0


def corpora(only):
    """The files that the recipes of these experiments read, or of all, with real paths."""
    found = set()
    for loaded in with_arms():
        if only and loaded.name not in only:
            continue
        for arm in loaded.experiment.arms:
            recipe, overrides = recipe_of(loaded, arm)
            for files in resolve_paths(load_recipe(recipe, overrides)).data.files_by_key.values():
                files.with_paths(lambda path: found.add(Path(path)) or path)
    return found


def without_caches(info):
    return None if "__pycache__" in info.name or info.name.endswith(".egg-info") else info


def run(args):
    begun = time.perf_counter()
    if (ROOT / "COMMIT").is_file():
        os.environ["GIT_COMMIT"] = (ROOT / "COMMIT").read_text()
    chosen = [each for each in with_arms() if not args.names or each.name in args.names]
    results = args.runs / "packed"
    plan = Plan(
        scale=args.scale,
        seeds=args.seeds,
        parallel=args.jobs,
        device=args.device,
        budget_s=None if args.minutes is None else 60 * args.minutes,
        first=tuple(arm for each in chosen for arm in each.experiment.arms if arm.startswith(SLOW)),
        cache=args.runs,
        out=results,
    )
    code = 0
    try:
        run_experiments(chosen, plan, say=said, after_each=lambda: write(args, results, begun))
    except TrimtabError as error:
        said(f"stopped: {error}")
        code = error.exit_code
    write(args, results, begun)
    found = {
        each.name: results / f"{each.name}.json"
        for each in chosen
        if (results / f"{each.name}.json").is_file()
    }
    for row in table_of(EXPERIMENTS, instead=found):
        if row.name in found:
            said(f"\n{row.name}\n{described(row)}")
    said("\n" + "\n".join(f"{row.name:<32}{row.verdict}" for row in table_of(EXPERIMENTS, instead=found)))
    said(f"{args.out}, after {time.perf_counter() - begun:.0f} s")
    for log in sorted(args.runs.glob("worker-*.log"))[:2] if code else []:
        said(f"{log}:\n{log.read_text(errors='replace')[-2000:]}")
    return code


def write(args, results, begun):
    """The results of all experiments in one file; whole or not at all."""
    found = {path.name: json.loads(path.read_text()) for path in sorted(results.glob("*.json"))}
    args.out.parent.mkdir(parents=True, exist_ok=True)
    part = args.out.with_name(f"{args.out.name}.part")
    part.write_text(json.dumps({"seconds": round(time.perf_counter() - begun, 1), "results": found}))
    part.replace(args.out)


def unpack(args):
    """Records of all runs, and beside each experiment a result that has all runs that its predictions need."""
    take(args.results, args.runs)
    for path in args.results:
        for result in json.loads(path.read_text())["results"].values():
            loaded = load_experiment(EXPERIMENTS, result["experiment"])
            if result["experiment_sha256"] != loaded.sha256 or result["scale"] != loaded.experiment.scale:
                said(f"{loaded.name}: another text or scale than that of the experiment; left out")
                continue
            comparisons = compare(loaded.experiment, scores_of(loaded, result))
            complete = [each for each in comparisons if each.seeds == loaded.experiment.seeds]
            if len(complete) == len(loaded.experiment.predictions):
                write_result(loaded.result, result)
                said(f"{loaded.name}: {loaded.result}")
    return 0


def said(text):
    print(text, flush=True)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
