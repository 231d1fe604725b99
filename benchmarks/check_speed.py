"""How long does `trimtab check` take: one file from a cold start, and a folder of a thousand?

    python benchmarks/check_speed.py --out benchmarks/check_speed.json

The cold start is a process of its own, from the call to its end, Python's files already compiled: for each kind of file
one process that is not counted, then ten; the median counts. The folder holds a thousand files, made from small
templates of six tools with another rate in each, so that no two are alike. Exit code 1 above the bounds.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

PROCESSES = 10
FILES = 1_000
MOST_SECONDS = {"one_file": 0.2, "folder": 10.0}
TEMPLATES = {
    "axolotl.yaml": """\
base_model: meta-llama/Llama-3.1-8B
load_in_4bit: true
adapter: qlora
lora_r: 32
lora_alpha: 16
lora_target_linear: true
datasets:
  - path: mhenrichsen/alpaca_2k_test
    type: alpaca
sequence_len: 4096
sample_packing: true
micro_batch_size: 2
gradient_accumulation_steps: 4
num_epochs: 1
optimizer: adamw_torch
lr_scheduler: cosine
learning_rate: {rate}
bf16: auto
gradient_checkpointing: true
warmup_steps: 10
output_dir: ./out
""",
    "args.json": """\
{{
  "output_dir": "out",
  "per_device_train_batch_size": 8,
  "gradient_accumulation_steps": 2,
  "learning_rate": {rate},
  "num_train_epochs": 3,
  "warmup_steps": 100,
  "bf16": true,
  "eval_strategy": "steps",
  "eval_steps": 500,
  "save_steps": 500
}}
""",
    "llamafactory.yaml": """\
model_name_or_path: Qwen/Qwen2.5-7B-Instruct
stage: sft
do_train: true
finetuning_type: lora
lora_rank: 8
lora_target: all
dataset: identity
template: qwen
cutoff_len: 2048
output_dir: saves/qwen
per_device_train_batch_size: 1
gradient_accumulation_steps: 8
learning_rate: {rate}
num_train_epochs: 3.0
lr_scheduler_type: cosine
warmup_ratio: 0.1
bf16: true
""",
    "opennmt.yaml": """\
data:
  corpus:
    path_src: train.en
    path_tgt: train.de
  valid:
    path_src: dev.en
    path_tgt: dev.de
save_model: run/model
src_vocab: run/vocab.src
tgt_vocab: run/vocab.tgt
batch_size: 4096
batch_type: tokens
accum_count: [4]
optim: adam
learning_rate: {rate}
warmup_steps: 8000
decay_method: noam
train_steps: 100000
valid_steps: 5000
save_checkpoint_steps: 5000
label_smoothing: 0.1
dropout: [0.1]
""",
    "train.py": """\
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

model = AutoModelForCausalLM.from_pretrained("HuggingFaceTB/SmolLM2-135M", dtype="float32")
arguments = TrainingArguments(
    output_dir="out",
    per_device_train_batch_size=8,
    learning_rate={rate},
    num_train_epochs=1,
    warmup_steps=100,
    bf16=True,
)
Trainer(model=model, args=arguments).train()
""",
    "run.sh": """\
#!/bin/sh
accelerate launch train.py \\
    --output_dir out \\
    --per_device_train_batch_size 8 \\
    --learning_rate {rate} \\
    --num_train_epochs 1 \\
    --bf16
""",
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        one = {name: cold_start(Path(folder), name) for name in TEMPLATES}
        many = whole_folder(Path(folder) / "many")
    slowest = max(times["median"] for times in one.values())
    measured = {"one_file": slowest, "folder": many["seconds"]}
    well = all(measured[name] <= bound for name, bound in MOST_SECONDS.items())
    result = {
        "question": "how long does `trimtab check` take for one file from a cold start, and for a thousand",
        "answer": f"{slowest * 1000:.0f} ms for the slowest kind of file, {many['seconds']:.1f} s for {FILES:,} files",
        "bounds": MOST_SECONDS,
        "within_bounds": well,
        "command": " ".join(["python benchmarks/check_speed.py", *sys.argv[1:]]),
        "commit": commit(),
        "device": f"CPU, {processor()}, {os.cpu_count()} cores",
        "load_before": os.getloadavg()[0],
        "versions": {"python": platform.python_version(), "ruamel.yaml": version("ruamel.yaml")},
        "one_file": one,
        "folder": many,
    }
    Path(args.out).write_text(json.dumps(result, indent=1) + "\n")
    print(result["answer"])
    sys.exit(0 if well else 1)


def cold_start(folder, name):
    """Seconds of ten processes, one after the other."""
    path = folder / name
    path.write_text(TEMPLATES[name].format(rate="2.0e-5"))
    seconds = [timed(path)[0] for _ in range(PROCESSES + 1)][1:]
    return {"median": statistics.median(seconds), "seconds": [round(each, 4) for each in seconds]}


def whole_folder(folder):
    """Seconds of one process over a thousand files, each in a folder of its own."""
    names = list(TEMPLATES)
    for number in range(FILES):
        name = names[number % len(names)]
        path = folder / f"{number:04}" / name
        path.parent.mkdir(parents=True)
        path.write_text(TEMPLATES[name].format(rate=f"{1 + number / FILES:.3f}e-5"))
    seconds, printed = timed(folder, "--format", "json")
    report = json.loads(printed)
    assert len(report["files"]) == FILES, len(report["files"])
    return {"files": FILES, "seconds": round(seconds, 3), "findings": len(report["findings"])}


def timed(path, *options):
    """Seconds of one process, and what it printed."""
    code = "from trimtab.cli.main import main; main()"
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code, "check", *options, str(path)],
        capture_output=True,
        text=True,
        check=False,
        env=environment(),
    )
    seconds = time.perf_counter() - started
    assert done.returncode in (0, 1), done.stderr
    assert not done.stderr, done.stderr
    return seconds, done.stdout


def environment():
    """As an installation has it: Python's files are compiled once, and kept."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": str(Path(tempfile.gettempdir()) / "trimtab-check-speed")}


def processor():
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def commit():
    done = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return done.stdout.strip()


if __name__ == "__main__":
    main()
