"""Do the tests that need a GPU pass on this one?

    python benchmarks/gpu_suite.py --out benchmarks/gpu_suite.json [--processes 8] [--seconds 500] [PATH ...]

Runs every test marked `gpu`, or those of some paths, through pytest, and writes down each with its outcome and time.
CI has no GPU, so this is where they are seen to pass. After `--seconds` pytest is interrupted; tests that had ended by
then are written down, and the exit code is not 0.
"""

import argparse
import json
import math
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import torch

ROOT = Path(__file__).parents[1]
INTERRUPTED = 2
"""Exit code of pytest."""
REPORTING_SECONDS = 30.0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("--processes", type=int, default=8, help="of pytest-xdist; 0 for none")
    parser.add_argument("--seconds", type=float, default=math.inf, help="after which no test continues")
    parser.add_argument("paths", nargs="*", help="by default every file that has such a test")
    args = parser.parse_args()
    # Others may need what is not installed where the GPU is, and pytest would not begin.
    paths = args.paths or sorted(
        str(path.relative_to(ROOT)) for path in ROOT.glob("tests/**/test_*.py") if marked(path)
    )
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = ["-m", "pytest", "-v", "-m", "gpu", "-o", "addopts=", f"--junitxml={report}"]
        command += ["-n", str(args.processes)] if args.processes else []
        code = finished([sys.executable, *command, *paths], seconds=args.seconds)
        tests = outcomes(ElementTree.parse(report)) if report.exists() else {}
    result = {
        "question": "do the tests that need a GPU pass",
        "card": torch.cuda.get_device_name() if torch.cuda.is_available() else "none",
        "torch": torch.__version__,
        "command": " ".join(["python", "benchmarks/gpu_suite.py", *sys.argv[1:]]),
        "interrupted": code == INTERRUPTED,
        "outcomes": dict(Counter(each["outcome"] for each in tests.values())),
        "tests": tests,
    }
    Path(args.out).write_text(json.dumps(result, indent=1) + "\n")
    print(result["card"], result["outcomes"])
    sys.exit(code)


def marked(path):
    return "mark.gpu" in path.read_text(encoding="utf-8")


def finished(command, *, seconds):
    """The exit code of pytest, interrupted after so many seconds, as a person would, so that it writes its report."""
    with subprocess.Popen(command, cwd=ROOT) as process:
        try:
            return process.wait(None if math.isinf(seconds) else seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
        try:
            return process.wait(REPORTING_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()


def outcomes(report):
    """Outcome and seconds of each test of a JUnit report, and what it says where it failed."""
    found = {}
    for case in report.iter("testcase"):
        if case.get("name") is None:
            continue  # the one at which pytest was interrupted
        told = [child for child in case if child.tag in ("failure", "error", "skipped")]
        one = {"outcome": told[0].tag if told else "passed", "seconds": round(float(case.get("time", 0)), 1)}
        if one["outcome"] in ("failure", "error"):
            one["says"] = f"{told[0].get('message', '')}\n{(told[0].text or '')[-800:]}"
        found[f"{case.get('classname')}::{case.get('name')}"] = one
    return found


if __name__ == "__main__":
    main()
