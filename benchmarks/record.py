"""What every result says of itself: question, machine, versions, command; and how it is written down bit by bit."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import torch

from trimtab.errors import Terminated


class Record:
    """A result that is written again after each arm, since a machine may go away."""

    def __init__(self, out, *, question, device=None, **more):
        self.out, self.begun = Path(out), time.perf_counter()
        self.device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        self.result = {**about(question, self.device), **more, "arms": {}, "failed": []}

    @property
    def arms(self):
        return self.result["arms"]

    def arm(self, name, work):
        """Does the work and writes down what it gives, or why there is nothing; the others continue."""
        begun = time.perf_counter()
        try:
            found = work()
        except Terminated:
            raise
        except (
            Exception
        ) as error:  # a library that fails is a result too, and the next arm is another library
            self.result["failed"].append({"arm": name, "error": f"{type(error).__name__}: {error}"[:1000]})
            print("FAILED", self.result["failed"][-1], flush=True)
            found = None
        else:
            self.arms[name] = {**found, "seconds_in_all": round(time.perf_counter() - begun, 1)}
            print(name, json.dumps(self.arms[name], ensure_ascii=False)[:600], flush=True)
        self.write()
        return found

    def write(self):
        self.result["seconds"] = round(time.perf_counter() - self.begun, 1)
        self.out.parent.mkdir(parents=True, exist_ok=True)
        self.out.write_text(json.dumps(self.result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def about(question, device):
    """Card, versions, command and commit."""
    return {
        "question": question,
        "card": torch.cuda.get_device_name() if device.type == "cuda" else "CPU",
        "cores": cores(),
        "torch": torch.__version__,
        "commit": commit(),
        "command": command(),
    }


def cores():
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def command():
    """As it was typed, without the folders of this machine."""
    return " ".join(["python", *(re.sub(r"(?<![\w.])/[\w./-]+/", "", each) for each in sys.argv)])


def commit():
    """Of this checkout, with a mark where files differ from it; where it is none, what COMMIT says."""
    asked = [("rev-parse", "HEAD"), ("status", "--porcelain", "--untracked-files=no")]
    try:
        told = [
            subprocess.run(["git", *each], capture_output=True, text=True, check=True).stdout.strip()
            for each in asked
        ]
    except (subprocess.CalledProcessError, FileNotFoundError):
        return os.environ.get("COMMIT", "unknown")
    return told[0] + (" and changes" if told[1] else "")
