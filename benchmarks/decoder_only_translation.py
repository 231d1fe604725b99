"""Which translates better at equal parameters and equal training tokens: an encoder-decoder, or a decoder alone?

    python benchmarks/decoder_only_translation.py --data DIR --out FILE [--tokens 60e6] [--seeds 1] [--side-by-side]
        [--arms encoder_decoder,prefix,causal] [--lines N] [KEY=VALUE ...]

- `encoder_decoder`: recipes/en_de.yaml;
- `prefix`: recipes/en_de_decoder.yaml, a decoder that reads the source in both directions;
- `causal`: the same decoder, which reads the source from left to right as it reads the translation.

DIR holds {prose,ui}/{train,dev}.{en,de}.xz. All arms have one vocabulary, in which texts come back as they were and
`<sep>` is a symbol: DIR/tok_exact, which is trained first where it is not there. A step is as many target tokens in all
of them, so with one seed they see the same pairs in the same steps; a pair has as many tokens in one row as in two,
since the separator stands where the source's end symbol was. The rate is that of the recipes for all. The length is
told in target tokens, half of `--tokens`, which are about those of both sides; what was seen is recorded.

The loss is that of the dev lines with at most 128 tokens on either side, which all can read. Checks before step 1 are
left out. `--side-by-side` trains and scores all arms at once on one card.
"""

import argparse
import tempfile
from pathlib import Path

from plain_progress import PlainProgress
from recipe_quality import measured, portable, read
from record import Record
from side_by_side import add_options, do_arms
from timed_run import unchecked

from trimtab.config.load import load_recipe
from trimtab.config.paths import resolve_paths
from trimtab.evaluation.translations import reference_loss
from trimtab.inference import load_model
from trimtab.launch import train
from trimtab.tasks.task_of import open_datasets

RECIPES = Path(__file__).parents[1] / "recipes"
DECODER = "en_de_decoder.yaml"
ARMS = {
    "encoder_decoder": ("en_de.yaml", ()),
    "prefix": (DECODER, ("model.prefix=bidirectional",)),
    "causal": (DECODER, ("model.prefix=causal",)),
}
BEAM, LONGEST = 4, 128
WARMUP = 0.15
"""Share of the length in which the rate rises."""


def main():
    args = arguments()
    args.vocabulary = vocabulary(args)
    record = Record(
        args.out,
        question="encoder-decoder or decoder alone, at equal parameters and equal training tokens",
        tokens_asked=round(args.tokens),
        beam=BEAM,
        overrides=args.overrides,
    )

    def conclude():
        record.result["against_the_first"] = against_the_first(record.arms)

    works = {
        f"{kind} seed {seed}": lambda kind=kind, seed=seed: one_arm(args, kind, seed)
        for seed in args.seeds
        for kind in args.arms.split(",")
    }
    do_arms(args, record, works, conclude=conclude)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--tokens", type=float, default=60e6, help="of both sides, about")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--arms", default=",".join(ARMS))
    parser.add_argument(
        "--vocabulary", help="folder of the vocabulary; by default tok_exact in that of the data"
    )
    parser.add_argument("--lines", type=int, help="score only the first so many of each set")
    add_options(parser)
    parser.add_argument("overrides", nargs="*")
    args = parser.parse_args()
    if unknown := set(args.arms.split(",")) - set(ARMS):
        parser.error(f"--arms: {', '.join(sorted(unknown))} not known; {', '.join(ARMS)} are")
    return args


def vocabulary(args):
    """The folder of the vocabulary of all arms, which is trained on both sides where it is not there."""
    place = Path(args.vocabulary or Path(args.data) / "tok_exact").absolute()
    if not place.is_dir():
        changes = [f"data.root={Path(args.data).absolute()}"]
        recipe = resolve_paths(load_recipe(RECIPES / DECODER, changes))
        open_datasets(recipe, tokenizer_folder=place, progress=PlainProgress())
    return place


def one_arm(args, kind, seed):
    """Trains and scores a model."""
    with tempfile.TemporaryDirectory() as folder:
        loaded = load_recipe(RECIPES / ARMS[kind][0], changes(args, kind, seed))
        with unchecked():
            run = train(loaded, out=Path(folder) / "run", progress=PlainProgress())
        model, state = load_model(f"{run.run}@last"), run.state
        times = {
            "training_seconds": round(state.seconds, 1),
            "tokens_per_second": round(state.tokens / state.seconds),
        }
        return {
            "kind": kind,
            "seed": seed,
            "parameters": sum(each.numel() for each in model.model.parameters()),
            "steps": state.step,
            "skipped": state.skips,
            "tokens": state.tokens,
            "target_tokens": state.target_tokens,
            **({} if args.side_by_side else times),
            "sets": {name: scored(args, model, valid) for name, valid in loaded.recipe.data.valid.items()},
            "recipe": portable(loaded.recipe),
        }


def changes(args, kind, seed):
    """Of the recipe of an arm."""
    targets = round(args.tokens / 2)
    return [
        f"data.root={Path(args.data).absolute()}",
        f"data.tokenizer={{kind: sentencepiece, path: {args.vocabulary}}}",
        f"seed={seed}",
        f"length={targets} tokens",
        f"step.schedule.warmup={round(WARMUP * targets)} tokens",
        "evaluate={every: 1000000 steps, metrics: [loss], best: {metric: loss}}",
        "checkpoint={every: 1000000 steps, keep: 1}",
        *ARMS[kind][1],
        *args.overrides,
    ]


def scored(args, model, valid):
    """BLEU and chrF of a set, and the nats a target token of those references that every arm can read."""
    data = Path(args.data)
    found = measured(model, valid, data, BEAM, 1.0, lines=args.lines)
    if args.side_by_side:
        del found["seconds"]
    pairs = zip(*(read(data / side)[: args.lines] for side in (valid.source, valid.target)), strict=True)
    short = [pair for pair in pairs if max(map(len, model.tokenizers.target.encode(pair))) <= LONGEST]
    sources, references = ([pair[side] for pair in short] for side in (0, 1))
    loss = reference_loss(model, sources, references, tags=valid.tags)
    return {**found, "loss": loss, "lines_of_loss": len(short)}


def against_the_first(arms):
    """How much larger and how much longer trained each is than the first one."""
    first = next(iter(arms.values()), None)
    return {
        name: {key: arm[key] / first[key] - 1 for key in ("parameters", "tokens")}
        for name, arm in list(arms.items())[1:]
    }


if __name__ == "__main__":
    main()
