"""How long does training wait for a checkpoint, saved in the loop and beside it?

    pip install ".[train]"
    python -m benchmarks.save_pause --out benchmarks/save_pause.json

The big preset (about 210M parameters) trains on made-up sentences with AdamW, on a GPU in half precision and with
recorded steps, as a run does. Each
repetition takes some steps, then saves: once by `CheckpointStore.save` in the loop, once by `BackgroundSaver.begin`
while the next steps run. The pause is the time until the loop continues plus what the steps that run during the save
take longer than the undisturbed ones; told as medians, in seconds and as a share of a step. Checkpoints go to --folder,
which should lie on the disk that runs are kept on.
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

import torch
from tests.streams import pack_of

from trimtab.checkpoint.background import BackgroundSaver
from trimtab.checkpoint.store import CheckpointStore
from trimtab.config.loss import CrossEntropyLoss
from trimtab.config.model import EncoderDecoderModel
from trimtab.config.optimizers import AdamW
from trimtab.config.step import ClipGlobalNorm
from trimtab.loss.build import build_loss
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.step.clip.build import build_clip
from trimtab.step.loss_scale import LossScale
from trimtab.step.optimizer.build import build_optimizer
from trimtab.step.precision import autocast
from trimtab.step.step_graphs import StepGraphs
from trimtab.step.take_step import take_step
from trimtab.types import TrainState

NUM_IDS, LENGTH = 32000, 32
BOUND = 0.05


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", required=True)
    parser.add_argument(
        "--folder", help="where checkpoints are written; by default a folder for temporary files"
    )
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--preset", default="big")
    on_gpu = torch.cuda.is_available()
    parser.add_argument("--tokens-per-pack", type=int, default=16384 if on_gpu else 256)
    parser.add_argument("--packs", type=int, default=4 if on_gpu else 1)
    args = parser.parse_args()
    started = time.perf_counter()
    run = Run(args.preset, tokens=args.tokens_per_pack, packs=args.packs)
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        found = measured(run, Path(folder), repetitions=args.repetitions)
    result = {
        "question": "how long does training wait for a checkpoint",
        "answer": answer(found),
        **surroundings(args.folder),
        "preset": args.preset,
        "parameters": run.model.num_parameters(),
        "target tokens in a step": args.packs * (args.tokens_per_pack // LENGTH) * LENGTH,
        "repetitions": args.repetitions,
        **found,
        "seconds": round(time.perf_counter() - started, 1),
    }
    Path(args.out).write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


class Run:
    """A model that trains on sentences of one length."""

    def __init__(self, preset, *, tokens, packs):
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.precision = "bf16_mixed" if self.device.type == "cuda" else "fp32"
        config = EncoderDecoderModel(preset=preset, dropout=0.0)
        self.model = EncoderDecoder(config, num_ids=NUM_IDS, max_positions=LENGTH, seed=1).to(self.device)
        self.model.kernel = "varlen" if self.device.type == "cuda" else "padded"
        self.loss = build_loss(CrossEntropyLoss(), num_ids=NUM_IDS, device=self.device)
        self.optimizer = build_optimizer(AdamW(learning_rate=1e-4), self.model)
        self.clip, self.scale = build_clip(ClipGlobalNorm()), LossScale(enabled=False, device=self.device)
        draw = torch.Generator().manual_seed(1)
        rows = torch.randint(4, NUM_IDS, (tokens // LENGTH, LENGTH), generator=draw).tolist()
        self.take_step = StepGraphs(device=self.device).take_step if self.device.type == "cuda" else take_step
        self.packs = packs * [pack_of(rows, rows[::-1], max_seqlen=LENGTH).to(self.device)]

    def step(self):
        """Seconds of one step; like the recorder of a run on a CPU it waits for the numbers of each."""
        begun = time.perf_counter()
        report = self.take_step(
            self.objective,
            self.optimizer,
            self.packs,
            clip=self.clip,
            scale=self.scale,
            learning_rate=1e-4,
        )
        report.loss.item()
        return time.perf_counter() - begun

    def objective(self, pack):
        with autocast(self.precision, self.device):
            return self.loss(self.model(pack), self.model.output_matrix, pack.labels)

    def contents(self, step):
        """What a run hands over to be saved."""
        return {
            "state": TrainState(step=step),
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_tensors(),
            "fingerprints": {},
        }


def answer(found):
    """In a sentence: until the loop continues, and what the steps lose meanwhile."""
    beside = found["beside the loop"]
    share, added = beside["share of a step"], beside["added to each of them, share of a step"]
    steps = statistics.median(beside["steps during a save"])
    return (
        f"{'less' if share < BOUND else 'not less'} than {BOUND:.0%} of a step until the loop continues ({share:.1%}), "
        f"and {added:.1%} more for each of the {steps:g} steps that run meanwhile"
    )


def measured(run, folder, *, repetitions):
    """Both ways of saving, in turns, so that a slow minute of the machine hits both."""
    for _ in range(8):
        run.step()
    store = CheckpointStore(folder / "checkpoints", keep=1)
    undisturbed, in_loop, returns, slower, saves, steps_beside, out_of_memory = [], [], [], [], [], [], ""
    with BackgroundSaver(store) as saver:
        warm_up(run, saver)
        for repetition in range(1, repetitions + 1):
            usual = statistics.median(quiet := [run.step() for _ in range(3)])
            undisturbed += quiet
            in_loop.append(timed(lambda number=2 * repetition: store.save(**run.contents(number))))
            run.step()
            begun = time.perf_counter()
            returns.append(timed(lambda number=2 * repetition + 1: saver.begin(**run.contents(number))))
            beside = []
            while not saver.is_idle:
                beside.append(run.step())
                saver.poll()
            saves.append(time.perf_counter() - begun)
            out_of_memory = out_of_memory or saver.out_of_memory
            slower.append(sum(seconds - usual for seconds in beside))
            steps_beside.append(len(beside))
    step = statistics.median(undisturbed)
    begin = statistics.median(returns)
    return {
        "seconds of a step": told(undisturbed),
        "in the loop": {
            "pause, seconds": told(in_loop),
            "share of a step": round(statistics.median(in_loop) / step, 4),
        },
        "beside the loop": {
            "until begin returns, seconds": told(returns),
            "share of a step": round(begin / step, 4),
            "added to the steps during a save, seconds": told(slower),
            "steps during a save": steps_beside,
            "added to each of them, share of a step": round(
                statistics.median(a / n for a, n in zip(slower, steps_beside, strict=True)) / step, 4
            ),
            "until the checkpoint is on the disk, seconds": told(saves),
            "no room on the device": out_of_memory,
        },
        "bytes of a checkpoint": sum(path.stat().st_size for path in store.latest().folder.iterdir()),
    }


def warm_up(run, saver):
    """The first save makes page-locked memory, which later ones find."""
    saver.begin(**run.contents(1))
    saver.finish()
    run.step()


def timed(call):
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def told(seconds):
    return {"median": round(statistics.median(seconds), 5), "all": [round(each, 5) for each in seconds]}


def surroundings(folder):
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return {
        "command": " ".join(["python -m benchmarks.save_pause", *sys.argv[1:]]),
        "commit": commit.stdout.strip(),
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else f"CPU, {platform.machine()}",
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "disk": file_system(Path(folder or tempfile.gettempdir())),
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("torch", "safetensors")},
        },
    }


def file_system(path):
    """Kind of the file system that a path lies on, where the system says it."""
    mounts = Path("/proc/mounts").read_text().splitlines() if os.path.exists("/proc/mounts") else []
    holding = [line.split()[1:3] for line in mounts if path.resolve().is_relative_to(line.split()[1])]
    return max(holding, default=["", "unknown"], key=lambda mount: len(mount[0]))[1]


if __name__ == "__main__":
    main()
