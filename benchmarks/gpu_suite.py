"""Do the tests that need a GPU pass on this one?

    python benchmarks/gpu_suite.py --out benchmarks/gpu_suite.json [--processes 8] [PATH ...]

Runs every test marked `gpu`, or those of some paths, through pytest, and writes down each with its outcome and time.
CI has no GPU, so this is where they are seen to pass.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import torch

ROOT = Path(__file__).parents[1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("--processes", type=int, default=8, help="of pytest-xdist; 0 for none")
    parser.add_argument("paths", nargs="*", default=["tests"])
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = ["-m", "pytest", "-q", "-m", "gpu", "-o", "addopts=", f"--junitxml={report}"]
        command += ["-n", str(args.processes)] if args.processes else []
        code = subprocess.run([sys.executable, *command, *args.paths], cwd=ROOT, check=False).returncode
        tests = outcomes(ElementTree.parse(report)) if report.exists() else {}
    result = {
        "question": "do the tests that need a GPU pass",
        "card": torch.cuda.get_device_name() if torch.cuda.is_available() else "none",
        "torch": torch.__version__,
        "command": " ".join(["python", "benchmarks/gpu_suite.py", *sys.argv[1:]]),
        "outcomes": dict(Counter(each["outcome"] for each in tests.values())),
        "tests": tests,
    }
    Path(args.out).write_text(json.dumps(result, indent=1) + "\n")
    print(result["card"], result["outcomes"])
    sys.exit(code)


def outcomes(report):
    """Outcome and seconds of each test of a JUnit report."""
    found = {}
    for case in report.iter("testcase"):
        kinds = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
        found[f"{case.get('classname')}::{case.get('name')}"] = {
            "outcome": kinds[0] if kinds else "passed",
            "seconds": round(float(case.get("time", 0)), 1),
        }
    return found


if __name__ == "__main__":
    main()
