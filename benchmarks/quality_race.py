"""How soon is a translator as good as that of Hugging Face after its 306 s? Trains by the clock, then translates.

    python benchmarks/quality_race.py --data DIR --out result.json [--seconds 90] [--keep RUN] [KEY=VALUE ...]

DIR holds {prose,ui}/{train,dev}.{en,de}.xz and `tok`, the folder of a vocabulary. The caches of compiled kernels are
empty when it begins. The clock runs from where the data are open and the model is about to be built, as that of the
Trainer did in `hf_translation.json`, to the end of the last step: the checks before the first step and all compiling
are in it. What is left of the seconds after the checks is the length of the training, over which its rate falls to
zero. Both figures are of the same corpora and the same dev lines. `--keep` is where the run stays, for
`beam_speed.py`.
"""

import argparse
import json
import os
import tempfile
import time
from pathlib import Path

from plain_progress import PlainProgress
from recipe_quality import measured, portable
from record import Record
from timed_run import RECIPE, data_in

import trimtab.launch
import trimtab.training.prepare
from trimtab.config.load import load_recipe
from trimtab.inference import load_model
from trimtab.units import Duration

PEER = Path(__file__).parent / "hf_translation.json"
LEAST_SECONDS = 5.0
"""Of training, whatever the checks took."""


def main():
    args = arguments()
    with tempfile.TemporaryDirectory() as folder:
        cold_caches(Path(folder))
        record = Record(
            args.out,
            question=f"BLEU and chrF after {args.seconds:g} s of training, everything compiled within them",
            peer=peer(),
        )
        run = Path(args.keep or Path(folder) / "run")
        record.arm("training", lambda: raced(args, run, record))
        if "training" in record.arms:
            for kind in args.kinds.split(","):
                record.arm(kind, lambda kind=kind: scored(args, run, kind))
        compare(record)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--recipe", default=str(RECIPE))
    parser.add_argument("--seconds", type=float, default=90.0)
    parser.add_argument("--kinds", default="prose", help="dev sets to translate")
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--compile", default="on", choices=["auto", "on", "off"])
    parser.add_argument("--keep", help="folder for the run")
    parser.add_argument("overrides", nargs="*")
    return parser.parse_args()


def cold_caches(folder):
    """Compilers write into this folder, where nothing is yet."""
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(folder / "inductor")
    os.environ["TRITON_CACHE_DIR"] = str(folder / "triton")


class Clock(PlainProgress):
    """Notes when the data were open, and when the last step was over."""

    def __init__(self):
        super().__init__()
        self.opened = self.built = self.checked = self.last = None
        self.last_step = 0

    def step(self, metrics, *, share, seconds_left):
        self.last, self.last_step = time.perf_counter(), metrics["step"]
        super().step(metrics, share=share, seconds_left=seconds_left)


def raced(args, run, record):
    """Trains into a folder; seconds of each part of it."""
    changes = [
        *data_in(args.data),
        "evaluate.every=1000000 steps",
        "checkpoint.every=1000000 steps",
        f"step.compile={args.compile}",
        *args.overrides,
        f"length={args.seconds / 60:.6f} minutes",
    ]
    loaded, clock, begun = load_recipe(args.recipe, changes), Clock(), time.perf_counter()
    with by_the_clock(clock, args.seconds):
        trained = trimtab.launch.train(loaded, out=run, progress=clock)
    state = trained.state
    record.result["recipe"] = portable(loaded.recipe)
    return {
        "race_seconds": round(clock.last - clock.opened, 2),
        "of_these_building": round(clock.built - clock.opened, 2),
        "of_these_checks": round(clock.checked - clock.built, 2),
        "of_these_training": round(state.seconds, 2),
        "before_the_clock": round(clock.opened - begun, 2),
        "call_to_return": round(time.perf_counter() - begun, 2),
        "steps": state.step,
        "skipped": state.skips,
        "tokens": state.tokens,
        "tokens_per_second": round(state.tokens / state.seconds),
    }


class by_the_clock:
    """While it is open, a run is as long as the seconds that its building and its checks leave."""

    def __init__(self, clock, seconds):
        self.clock, self.seconds = clock, seconds
        self.build, self.preflight = trimtab.training.prepare.build, trimtab.launch.run_preflight

    def __enter__(self):
        def build(*given, **more):
            self.clock.opened = time.perf_counter()
            parts = self.build(*given, **more)
            self.clock.built = time.perf_counter()
            return parts

        def preflight(parts, recorder):
            self.preflight(parts, recorder)
            self.clock.checked = time.perf_counter()
            left = max(LEAST_SECONDS, self.seconds - (self.clock.checked - self.clock.opened))
            parts.recipe = parts.recipe.model_copy(update={"length": Duration(left / 60, "minutes")})

        trimtab.training.prepare.build, trimtab.launch.run_preflight = build, preflight

    def __exit__(self, *_):
        trimtab.training.prepare.build, trimtab.launch.run_preflight = self.build, self.preflight


def scored(args, run, kind):
    """BLEU and chrF of the dev lines of a kind, by the weights of the last step."""
    model = load_model(f"{run}@last")
    return measured(model, model.recipe.data.valid[kind], Path(args.data), args.beam, 1.0)


def peer():
    """What the Trainer of Hugging Face reached."""
    found = json.loads(PEER.read_text(encoding="utf-8"))
    keys = ("card", "transformers", "training_seconds", "tokens_per_second", "scores")
    return {key: found[key] for key in keys}


def compare(record):
    """Whether each set is translated at least as well, on the same lines and within the time."""
    reached = {}
    for kind, theirs in record.result["peer"]["scores"].items():
        ours = record.arms.get(kind)
        if ours is None or ours["lines"] != theirs["lines"]:
            continue
        reached[kind] = {name: ours[name]["value"] >= theirs[name] for name in ("BLEU", "chrF")}
    record.result["as_good_as_the_peer"] = reached
    record.write()
    print(json.dumps(reached), flush=True)


if __name__ == "__main__":
    main()
