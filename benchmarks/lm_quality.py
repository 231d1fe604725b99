"""How well does a language model foresee text after minutes of training, and what does it write?

    python benchmarks/lm_quality.py --data DIR --out FILE [--recipe recipes/lm_en_small.yaml] [--keep RUN]
        [--prompts TEXT ...] [--max-tokens 96] [KEY=VALUE ...]

DIR holds what the recipe names under `data.root` (train.txt.xz and dev.txt.xz) and perhaps tok/, a vocabulary in which
texts come back as they were; otherwise one is trained before the clock runs. Training is told with its time, the
validation sets by perplexity a token and a byte and by bits a byte, and one text is drawn for each prompt, by the same
numbers every time. Checks before step 1 are left out. Compiling is within the seconds of the training.
"""

import argparse
import tempfile
from contextlib import nullcontext
from pathlib import Path

from plain_progress import PlainProgress
from recipe_quality import portable
from record import Record
from timed_run import data_in, unchecked

from trimtab.config.load import load_recipe
from trimtab.decode.generation_config import GenerationConfig
from trimtab.decode.sampling import Sampling
from trimtab.evaluation.texts import report_on_text
from trimtab.inference import load_generator, load_model
from trimtab.launch import train

RECIPE = Path(__file__).parents[1] / "recipes/lm_en_small.yaml"
PROMPTS = ("The kernel", "To insert a table", "This package provides")
TEMPERATURE, TOP_P, SEED = 0.8, 0.95, 1


def main():
    args = arguments()
    with nullcontext(args.keep) if args.keep else tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        record = Record(
            args.out,
            question=f"perplexity and texts of {Path(args.recipe).name} after training",
            overrides=args.overrides,
        )
        record.arm("training", lambda: trained(args, run, record))
        if "training" in record.arms:
            record.arm("valid", lambda: foreseen(args, run))
            record.arm("texts", lambda: written(args, run))


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--recipe", default=str(RECIPE))
    parser.add_argument("--keep", type=Path, help="folder in which the run stays, as `run`")
    parser.add_argument("--prompts", nargs="+", default=PROMPTS)
    parser.add_argument("--max-tokens", type=int, default=96)
    parser.add_argument("overrides", nargs="*")
    return parser.parse_args()


def trained(args, run, record):
    """How much it read, and in which time."""
    changes = [*data_in(args.data), "checkpoint.every=1000000 steps", *args.overrides]
    loaded = load_recipe(args.recipe, changes)
    record.result["recipe"] = portable(loaded.recipe)
    with unchecked():
        state = train(loaded, out=run, progress=PlainProgress()).state
    model = load_model(f"{run}@last", device="cpu").model
    return {
        "parameters": sum(each.numel() for each in model.parameters()),
        "steps": state.step,
        "skipped": state.skips,
        "tokens": state.tokens,
        "training_seconds": round(state.seconds, 1),
        "tokens_per_second": round(state.tokens / state.seconds),
    }


def foreseen(args, run):
    """Perplexities of each validation set that is a text."""
    model = load_model(f"{run}@last")
    sets = model.recipe.data.valid
    texts = {name: files.text for name, files in sets.items() if files.text is not None}
    return {
        "sets": {
            name: report_on_text(model, Path(args.data) / text).to_dict() for name, text in texts.items()
        }
    }


def written(args, run):
    """A text for each prompt."""
    sampling = Sampling(temperature=TEMPERATURE, top_p=TOP_P, seed=SEED)
    generation = GenerationConfig(max_tokens=args.max_tokens, sampling=sampling)
    found = load_generator(f"{run}@last").generate(args.prompts, generation)
    return {
        "temperature": TEMPERATURE,
        "top_p": TOP_P,
        "seed": SEED,
        "texts": [each.to_dict() for each in found],
    }


if __name__ == "__main__":
    main()
