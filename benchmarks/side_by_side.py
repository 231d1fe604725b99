"""The arms of a benchmark one after another, or all at once on one card, each in a process of its own.

Side by side they share the card, so that this is for questions of quality: no figure of time means anything then, and
lengths must not be told in time. Each process writes a record of its own, which is merged when it ends, so that what
was found is kept where another one fails.
"""

import gc
import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import torch


def add_options(parser):
    """What `do_arms` is told by."""
    parser.add_argument(
        "--side-by-side", action="store_true", help="all arms at once, each in a process of its own"
    )
    parser.add_argument("--only", metavar="ARM", help="this arm alone")


def do_arms(args, record, works, *, conclude=lambda: None):
    """Does the work of each arm, or of the one that is asked for; `conclude` adds to the record after each."""
    if args.only is not None and args.only not in works:
        raise SystemExit(f"--only: {args.only} is none of {', '.join(works)}")
    record.result["side_by_side"] = args.side_by_side
    if args.side_by_side and args.only is None:
        together(record, list(works), conclude)
        return
    for name, work in works.items():
        if args.only in (None, name):
            record.arm(name, work)
            clean()
            conclude()
            record.write()


def clean():
    """Each arm compiles its model again, and leaves no memory of the card to the next."""
    torch._dynamo.reset()
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def together(record, names, conclude):
    """This very command once for each arm, all at the same time."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(len(names)) as pool:
        files = {name: Path(folder) / f"{number}.json" for number, name in enumerate(names)}
        processes = {name: begun(name, files[name]) for name in names}
        try:
            ends = {pool.submit(followed, name, process): name for name, process in processes.items()}
            for end in as_completed(ends):
                merge(record, ends[end], files[ends[end]], *end.result())
                in_order(record, names)
                conclude()
                record.write()
        finally:
            for process in processes.values():
                process.terminate()


def begun(name, out):
    """The process of an arm."""
    command = [sys.executable, sys.argv[0], *narrowed(sys.argv[1:], name, out)]
    read = {"text": True, "encoding": "utf-8", "errors": "replace"}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **read)


def narrowed(given, name, out):
    """The arguments for one arm: of an option that is written twice the second one counts."""
    end = given.index("--") if "--" in given else len(given)
    return [*given[:end], "--out", str(out), "--only", name, *given[end:]]


def followed(name, process):
    """Passes on what it prints, until it ends; its exit status and its last line."""
    last = ""
    for line in process.stdout:
        last = line.strip() or last
        print(f"{name}: {line}", end="", flush=True)
    return process.wait(), last


def merge(record, name, file, status, last):
    """What the process of an arm wrote down, or how it ended without."""
    told = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {"arms": {}, "failed": []}
    record.arms.update(told["arms"])
    record.result["failed"] += told["failed"]
    if not told["arms"] and not told["failed"]:
        error = f"its process ended with {status}: {last}"[:1000]
        record.result["failed"].append({"arm": name, "error": error})


def in_order(record, names):
    """The arms as they were asked for, and not as they ended."""
    record.result["arms"] = {name: record.arms[name] for name in names if name in record.arms}
