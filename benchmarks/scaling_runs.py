"""Runs of trimtab on one GPU and on several, for the arms of `scaling.py`: begun, watched, ended, read.

python benchmarks/scaling_runs.py CAP_GIB TRAIN_ARGUMENTS    # a rank of a run, with the memory of its GPU capped
"""

import json
import lzma
import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).parent.parent
DEMO = ROOT / "src" / "trimtab" / "demo" / "data"
JOINED = 3
"""Pairs of the demo that become one."""
GIB = 2**30


def write_text(args):
    """The demo's pairs, some of them in one line, and its English documents, as plain files."""
    for name in ("train", "valid"):
        with lzma.open(DEMO / f"{name}.tsv.xz", "rt", encoding="utf-8") as file:
            pairs = [line.rstrip("\n").split("\t")[:2] for line in file]
        pairs = pairs[: 300 if args.tiny else None]
        lines = [pairs[i : i + JOINED] for i in range(0, len(pairs) - JOINED + 1, JOINED)]
        for side, end in ((0, "en"), (1, "de")):
            text = "".join(" ".join(pair[side] for pair in line) + "\n" for line in lines)
            (args.folder / f"{name}.{end}").write_text(text, encoding="utf-8")
        with lzma.open(DEMO / f"english_{name}.txt.xz", "rt", encoding="utf-8") as file:
            documents = file.read().split("\n\n")
        (args.folder / f"{name}.txt").write_text("\n\n".join(documents[: 60 if args.tiny else None]))


def recipe_file(args, name, changes, *, task="translation"):
    """A recipe with dotted changes; a tiny one where all is only tried."""
    texts = {"source": "train.en", "target": "train.de"}, {"source": "valid.en", "target": "valid.de"}
    if task == "language_model":
        texts = {"text": "train.txt"}, {"text": "valid.txt"}
    tree = {
        "task": task,
        "data": {
            "train": [texts[0]],
            "valid": texts[1],
            "tokenizer": {"vocabulary_size": 600 if args.tiny else 8000},
            "max_tokens": 128,
        },
        "step": {"schedule": {"kind": "linear_warmup", "warmup": "10 steps"}},
        "evaluate": {"metrics": ["chrf"], "lines": 20} if task == "translation" else {},
        "checkpoint": {"keep": 1},
    }
    if args.tiny:
        model = TINY["model"] if task == "translation" else TINY_DECODER
        pretrained = changes["model"]["kind"] == "pretrained"
        changes = {**changes, **TINY, "model": changes["model"] if pretrained else model}
    for key, value in changes.items():
        place = tree
        *above, last = key.split(".")
        for each in above:
            place = place.setdefault(each, {})
        place[last] = value
    path = args.folder / f"{name}.yaml"
    path.write_text(json.dumps(tree))
    return path


TINY = {
    "model": {"kind": "encoder_decoder", "dim": 32, "heads": 2, "layers": 1, "feed_forward": 64},
    "step.tokens_per_step": 1024,
    "step.tokens_per_micro_batch": 512,
    "step.compile": "off",
    "data.workers": 0,
}


TINY_DECODER = {
    "kind": "decoder",
    "dim": 32,
    "heads": 4,
    "kv_heads": 2,
    "layers": 2,
    "feed_forward": 64,
    "tie_embeddings": False,
    "init_on": "gpu",
}


def begin(args, name, recipe, *more, ranks, cap_gib=None, gpu=0):
    """A run that has begun, its output in a file beside it."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), *sys.path])}
    environment.setdefault("OMP_NUM_THREADS", "1" if args.tiny else "4")
    environment["TRIMTAB_CACHE"] = str(args.folder / "cache")
    for key in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        environment.pop(key, None)
    if not args.cuda:
        environment["CUDA_VISIBLE_DEVICES"] = ""
    elif ranks == 1:
        environment["CUDA_VISIBLE_DEVICES"] = str(gpu)
    program = [str(Path(__file__).resolve()), str(cap_gib or 0)]
    launcher = [sys.executable]
    if ranks > 1:
        launcher += ["-m", "torch.distributed.run", "--standalone"]
        launcher += ["--local-addr", "127.0.0.1", "--nproc-per-node", str(ranks)]
    out = args.folder / name
    command = [*launcher, *program, "train", str(recipe), "--out", str(out), *more]
    log = open(args.folder / f"{name}.log", "a")  # noqa: SIM115
    return subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT), out


def finished(args, name, recipe, *more, ranks, must=True, **where):
    """The folder of a run that has ended, the seconds that it took in all, and its exit code."""
    begun = time.perf_counter()
    process, out = begin(args, name, recipe, *more, ranks=ranks, **where)
    try:
        code = process.wait(timeout=3000 if args.tiny else max(30.0, args.until - begun))
    except subprocess.TimeoutExpired:
        end(process, ranks=ranks)
        raise RuntimeError(f"{name} took too long: {said_by_ranks(args, name)}") from None
    if must and code:
        raise RuntimeError(f"{name} ended with {code}: {said_by_ranks(args, name)}")
    return out, time.perf_counter() - begun, code


def rank_of_run():
    """The command line of trimtab, with the memory of this rank's GPU capped; what it used is written beside the run
    folder."""
    cap, *command = sys.argv[1:]
    if float(cap):
        import torch

        if torch.cuda.is_available():
            number = int(os.environ.get("LOCAL_RANK", 0))
            whole = torch.cuda.get_device_properties(number).total_memory
            torch.cuda.set_per_process_memory_fraction(float(cap) * GIB / whole, number)
    from trimtab.cli.main import main as trimtab

    sys.argv = ["trimtab", *command]
    try:
        trimtab()
    finally:
        write_memory(Path(command[command.index("--out") + 1]))


def write_memory(out):
    import torch

    if not torch.cuda.is_available():
        return
    free, whole = torch.cuda.mem_get_info()
    found = {
        "allocated_gib": round(torch.cuda.max_memory_allocated() / GIB, 2),
        "reserved_gib": round(torch.cuda.max_memory_reserved() / GIB, 2),
        "driver_gib_at_the_end": round((whole - free) / GIB, 2),
    }
    out.with_name(f"{out.name}.memory{os.environ.get('RANK', 0)}.json").write_text(json.dumps(found))


def memory_of(args, name):
    """What each rank of a run used, by the number of the rank."""
    files = sorted(args.folder.glob(f"{name}.memory*.json"))
    return {each.stem.rpartition("memory")[2]: json.loads(each.read_text()) for each in files}


@contextmanager
def cards_watched(period_seconds=0.5):
    """Memory in use on each GPU by nvidia-smi, while the block runs: seconds and GiB, filled in as they come."""
    climbs, over, begun = {}, threading.Event(), time.perf_counter()
    command = ["nvidia-smi", "--query-gpu=index,memory.used", "--format=csv,noheader,nounits"]

    def look():
        while not over.is_set():
            with suppress(OSError, ValueError, subprocess.SubprocessError):
                told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout
                for line in told.splitlines():
                    number, used = line.split(",")
                    climbs.setdefault(number, []).append(
                        (round(time.perf_counter() - begun, 1), round(float(used) / 1024, 2))
                    )
            over.wait(period_seconds)

    watching = threading.Thread(target=look, daemon=True)
    watching.start()
    try:
        yield climbs
    finally:
        over.set()
        watching.join(timeout=15)


def peaks(climbs):
    """The most on each GPU."""
    return {number: max(used for _, used in climb) for number, climb in climbs.items()}


def thinned(climb, *, least_gib=2.0):
    """The moments at which the use of a GPU has changed by so much, and the last one."""
    kept = []
    for moment in climb:
        if not kept or abs(moment[1] - kept[-1][1]) >= least_gib or moment is climb[-1]:
            kept.append(moment)
    return kept


def tail(args, name):
    return (args.folder / f"{name}.log").read_text(errors="replace")[-1500:]


def said_by_ranks(args, name):
    """The exit codes of the ranks and the end of their own output: a record keeps 1,000 characters, and the traceback
    of torchrun, which comes last, is longer. Prints the end of the whole output."""
    log = (args.folder / f"{name}.log").read_text(errors="replace")
    print(f"--- output of {name}\n{log[-20_000:]}\n--- end of output of {name}", flush=True)
    codes = re.findall(r"exitcode *: (-?\d+)", log)
    own, found, _ = log.partition('Traceback (most recent call last):\n  File "<frozen runpy>')
    spoken = [line for line in (own if found else log).splitlines() if not re.match(r"[EWI]\d{4} ", line)]
    return f"ranks ended with {', '.join(codes) or 'no code'}: {chr(10).join(spoken).strip()[-800:]}"


def lines(out):
    path = out / "metrics.jsonl"
    return (
        [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]
        if path.exists()
        else []
    )


def digest(out):
    newest = max((out / "checkpoints").glob("step-*"))
    return hashlib.sha256((newest / "model.safetensors").read_bytes()).hexdigest()


def end(process, *, ranks):
    """Ends a run that would train for ever, without the checkpoint that a signal would have it write."""
    if process.poll() is not None:
        return
    for rank in range(ranks) if ranks > 1 else ():
        try:
            os.kill(process_of_rank(process.pid, rank), signal.SIGKILL)
        except (RuntimeError, ProcessLookupError):
            continue
    if ranks == 1:
        process.kill()
    try:
        process.wait(timeout=40)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def process_of_rank(launcher, rank):
    """The process of a rank, among the children of torchrun."""
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        try:
            parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
            environment = (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if int(parent) == launcher and f"RANK={rank}".encode() in environment:
            return int(folder.name)
    raise RuntimeError("the rank is not there")


if __name__ == "__main__":
    rank_of_run()
