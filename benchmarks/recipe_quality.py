"""How good is a recipe after minutes of training on this GPU? Trains it and translates its validation sets, beam 4.

    python benchmarks/recipe_quality.py --data DIR --out result.json [--recipe recipes/en_de.yaml] [KEY=VALUE ...]

DIR holds what the recipe names under `data.root`. The result names card, versions, command, time, BLEU and chrF.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
from plain_progress import PlainProgress

from trimtab.config.load import load_recipe
from trimtab.decode.search import Search
from trimtab.inference import load_model
from trimtab.launch import train
from trimtab.metrics.bleu import bleu
from trimtab.metrics.chrf import chrf


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--recipe", default=str(Path(__file__).parents[1] / "recipes/en_de.yaml"))
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--length-penalty", type=float, nargs="+", default=[1.0])
    parser.add_argument("overrides", nargs="*")
    args = parser.parse_args()
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        loaded = load_recipe(args.recipe, [f"data.root={Path(args.data).absolute()}", *args.overrides])
        run = train(loaded, out=Path(folder) / "run", progress=PlainProgress())
        whole = time.perf_counter() - started
        state, scores = run.state, {}
        print(
            f"trained {state.seconds:.1f} s of {whole:.1f} s, {state.step} steps, {state.tokens / 1e6:.1f}M tokens,"
            f" {state.tokens / state.seconds / 1e3:.0f}k tokens/s",
            flush=True,
        )
        result = {
            "question": f"BLEU and chrF of {Path(args.recipe).name} after minutes of training",
            "card": torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU",
            "torch": torch.__version__,
            "commit": commit(),
            "command": " ".join(["python", *sys.argv]),
            "training_seconds": state.seconds,
            "wall_seconds": whole,
            "steps": state.step,
            "tokens": state.tokens,
            "tokens_per_second": state.tokens / state.seconds,
            "scores": scores,
            "recipe": portable(loaded.recipe),
        }
        model = load_model(f"{run.run}@last")
        for penalty in args.length_penalty:
            for name, valid in loaded.recipe.data.valid.items():
                scores[f"{name} penalty {penalty}"] = measured(
                    model, valid, Path(args.data), args.beam, penalty
                )
                # After each set, since a machine may go away before the last.
                Path(args.out).write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")


def measured(model, valid, data, beam, penalty, *, lines=None):
    """Scores of one validation set or its first lines, with their signatures."""
    source, reference = (read(data / getattr(valid, side))[:lines] for side in ("source", "target"))
    translator = model.translator(search=Search(beam=beam, length_penalty=penalty), tags=valid.tags)
    begun = time.perf_counter()
    output = translator.translate(source)
    took = time.perf_counter() - begun
    found = (bleu(output, reference, tokenize=valid.bleu_tokenizer), chrf(output, reference))
    print(
        valid.source,
        penalty,
        *(f"{score.name} {score.value:.2f}" for score in found),
        f"{took:.1f} s",
        flush=True,
    )
    values = {score.name: {"value": score.value, "signature": score.signature} for score in found}
    return values | {"lines": len(source), "seconds": took}


def portable(recipe):
    """The recipe without the folder of this machine."""
    values = recipe.model_dump(mode="json")
    values["data"]["root"] = "DIR"
    for key in ("tokenizer", "source_tokenizer"):
        chosen = values["data"].get(key) or {}
        if chosen.get("path"):
            chosen["path"] = f"DIR/{Path(chosen['path']).name}"
    return values


def commit():
    """Of this checkout; where it is none, git prints back what it was asked."""
    asked = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return asked.stdout.strip() if asked.returncode == 0 else "unknown"


def read(path):
    import lzma

    return lzma.open(path, "rt", encoding="utf-8", newline="\n").read().split("\n")[:-1]


if __name__ == "__main__":
    main()
