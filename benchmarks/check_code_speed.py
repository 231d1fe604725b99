"""How fast does `trimtab check` read training code, beside another version of itself?

    python benchmarks/check_code_speed.py --files LIST --other ../older/src --out benchmarks/check_code_speed.json

LIST names one script or notebook a line; the recorded run took 400 at random from 30 public repositories. Warm: one
process checks all of them five times, after a first file that is not counted. Cold: ten processes, each from its call
to its end, for a script of code, and for one of configuration. Seconds of the processor and of the clock are recorded:
on a machine with other work only the first say much. Both versions take turns."""

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

TURNS = 5
PROCESSES = 10
WARM = """
import json, resource, sys, time
from trimtab.checks.check import check
files = open(sys.argv[1]).read().split("\\n")
files = [file for file in files if file]
check(files[0])
cpu, wall = time.process_time(), time.perf_counter()
report = check(files)
print(json.dumps([time.process_time() - cpu, time.perf_counter() - wall, len(files), len(report.diagnoses)]))
"""
COLD = "from trimtab.cli.main import main; main()"
CONFIGURATION = """per_device_train_batch_size: 8
output_dir: out
learning_rate: 2.0e-5
num_train_epochs: 1
bf16: true
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", required=True)
    parser.add_argument("--script", required=True, help="the script of the cold start")
    parser.add_argument("--other", required=True, help="the `src` of another version")
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    configuration = Path(args.out).with_suffix(".yaml")
    configuration.write_text(CONFIGURATION)
    sources = {"this": str(Path(__file__).parent.parent / "src"), "other": args.other}
    warm = {name: [] for name in sources}
    cold = {name: {"code": [], "configuration": []} for name in sources}
    for _ in range(TURNS):
        for name, source in sources.items():
            warm[name].append(json.loads(run(source, WARM, args.files)[0]))
    for _ in range(PROCESSES + 1):
        for name, source in sources.items():
            cold[name]["code"].append(run(source, COLD, "check", "--quiet", args.script)[1:])
            cold[name]["configuration"].append(run(source, COLD, "check", "--quiet", str(configuration))[1:])
    configuration.unlink()
    result = {name: summary(warm[name], cold[name]) for name in sources}
    this, other = result["this"], result["other"]
    answer = (
        f"{this['files_per_cpu_second']:.0f} files a second (before: {other['files_per_cpu_second']:.0f}); "
        f"one script {1000 * this['cold']['code']['cpu']:.0f} ms from a cold start "
        f"(before: {1000 * other['cold']['code']['cpu']:.0f}), one configuration "
        f"{1000 * this['cold']['configuration']['cpu']:.0f} ms "
        f"(before: {1000 * other['cold']['configuration']['cpu']:.0f}), all in seconds of the processor"
    )
    record = {
        "question": "how fast does `trimtab check` read training code, beside an earlier version",
        "answer": answer,
        "device": f"{platform.machine()}, {os.cpu_count()} cores",
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
        **result,
    }
    Path(args.out).write_text(json.dumps(record, indent=1) + "\n")
    print(answer)


def summary(warm, cold):
    cpu, wall = (statistics.median(turn[at] for turn in warm) for at in (0, 1))
    return {
        "files": warm[0][2],
        "findings": warm[0][3],
        "seconds": {"cpu": cpu, "wall": wall},
        "turns": [[round(number, 3) for number in turn[:2]] for turn in warm],
        "files_per_cpu_second": warm[0][2] / cpu,
        "cold": {
            name: {
                "cpu": statistics.median(cpu for cpu, _ in runs[1:]),
                "wall": statistics.median(wall for _, wall in runs[1:]),
            }
            for name, runs in cold.items()
        },
    }


def run(source, code, *arguments):
    """What one process printed, and its seconds of the processor and of the clock."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=environment | {"PYTHONPATH": source},
    )
    seconds = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode in (0, 1, 2), done.stderr
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stdout, cpu, seconds


if __name__ == "__main__":
    main()
