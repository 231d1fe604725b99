"""How many real tokens a second does training take in, end to end? `trimtab train` beside the Trainer of Hugging Face.

    python benchmarks/translation_speed.py --data DIR --out result.json [--presets base]
        [--arms trimtab,hf,hf_grouped] [--seconds 60] [KEY=VALUE ...]

DIR holds {prose,ui}/{train,dev}.{en,de}.xz and `tok`, the folder of a vocabulary.

Both read the same lines with the same vocabulary, drop those that are longer than 128 tokens, and count real tokens of
source and target, never slots. Each figure is the median of three windows of time, at least 60 s together, after a
warm-up.

- `trimtab`: the whole run, with its data pipeline from raw text, guards, metrics, and an evaluation on the way, whose
  time is told by itself;
- `hf`: Seq2SeqTrainer with M2M100 of the same size, bf16, fused AdamW, lines tokenised before it begins, batches as
  they come, of the best of a few sizes;
- `hf_grouped`: the same with batches grouped by length;
- `eole`: Eole with a model of the same size, from raw text as well, if it is installed.
"""

import argparse
import json
from functools import partial
from pathlib import Path

import torch
from record import Record
from timed_run import RECIPE, data_in, timed_run

from trimtab.config.load import load_recipe
from trimtab.config.paths import resolve_paths
from trimtab.data.cache import default_cache
from trimtab.data.corpus import open_corpora

LONGEST = 128


def main():
    args = arguments()
    record = Record(
        args.out,
        question="real tokens a second of training, end to end: trimtab beside the Trainer of Hugging Face",
        seconds_measured=args.seconds,
    )
    data = None
    for preset in args.presets.split(","):
        for arm in args.arms.split(","):
            if arm == "trimtab":
                record.arm(f"{preset} trimtab", partial(ours, args, preset))
                continue
            if arm == "eole":
                record.arm(f"{preset} eole", partial(by_eole, args, preset))
                continue
            if data is None:
                data = tokenised(args)
                import transformers

                record.result["transformers"] = transformers.__version__
            record.arm(f"{preset} {arm}", partial(theirs, args, preset, arm, data))
        compare(record, preset)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--recipe", default=str(RECIPE))
    parser.add_argument("--presets", default="base")
    parser.add_argument("--arms", default="trimtab,hf,hf_grouped")
    parser.add_argument("--seconds", type=float, default=60.0, help="measured of each arm, in three windows")
    parser.add_argument("--warm-steps", type=int, default=100, help="of trimtab, before the first window")
    parser.add_argument("--evaluate-at", type=int, default=600, help="step of the evaluation; 0 for none")
    parser.add_argument("--compile", default="on", choices=["auto", "on", "off"])
    parser.add_argument("--hf-batches", default="256,512,1024", help="sentences, tried as they come")
    parser.add_argument("--hf-grouped-batches", default="256,512,1024", help="the same where grouped")
    parser.add_argument(
        "--eole-batches", default="16384,16384:pure", help="tokens of a side with padding[:pure], tried"
    )
    parser.add_argument("--eole-report-every", type=int, default=20, help="steps")
    parser.add_argument("--hf-workers", type=int, default=8)
    parser.add_argument(
        "--hf-lines", type=int, default=0, help="lines of the corpora that HF reads; 0 for all"
    )
    parser.add_argument("overrides", nargs="*")
    return parser.parse_args()


def ours(args, preset):
    evaluate = f"{args.evaluate_at} steps" if args.evaluate_at else "1000000 steps"
    overrides = [
        *data_in(args.data),
        *args.overrides,
        f"model.preset={preset}",
        "length=1000000 steps",
        f"evaluate.every={evaluate}",
        "checkpoint.every=1000000 steps",
        f"step.compile={args.compile}",
    ]
    return timed_run(overrides, warm_steps=args.warm_steps, seconds=args.seconds, recipe=args.recipe)


def theirs(args, preset, arm, data):
    from hf_speed import best_batch

    rows, vocabulary, end = data
    grouped = arm == "hf_grouped"
    sizes = args.hf_grouped_batches if grouped else args.hf_batches
    return best_batch(
        rows,
        vocabulary,
        preset=preset,
        grouped=grouped,
        batches=[int(each) for each in sizes.split(",")],
        seconds=args.seconds,
        end=end,
        workers=args.hf_workers,
    )


def by_eole(args, preset):
    from importlib.metadata import version

    from eole_speed import best_of

    pairs, pieces, model = read(args)
    return {"eole": version("eole")} | best_of(
        pairs,
        pieces,
        model,
        preset=preset,
        tries=args.eole_batches.split(","),
        seconds=args.seconds,
        device="cuda" if torch.cuda.is_available() else "cpu",
        report_every=args.eole_report_every,
    )


def tokenised(args):
    """All pairs of the recipe's corpora as ids, the vocabulary's size and its end symbol."""
    pairs, pieces, _ = read(args)
    assert pieces.pad_id() == 0, "the padding of this script is 0"
    source, target = (
        pieces.encode([pair[side] for pair in pairs], add_eos=True, num_threads=16) for side in (0, 1)
    )
    rows = [
        {"input_ids": s, "labels": t, "length": len(s) + len(t)}
        for s, t in zip(source, target, strict=True)
        if max(len(s), len(t)) <= LONGEST
    ]
    print(f"{len(rows):,} pairs for HF", flush=True)
    return rows, pieces.get_piece_size(), pieces.eos_id()


def read(args):
    """The pairs of the recipe's corpora, or some of them; the vocabulary and its file."""
    import sentencepiece

    recipe = resolve_paths(load_recipe(args.recipe, [*data_in(args.data), *args.overrides]))
    folder = Path(recipe.data.tokenizer.path or "")
    model = folder / "sentencepiece.model" if folder.is_dir() else folder
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(model))
    keys = [f"data.train.{number}" for number in range(len(recipe.data.train))]
    corpora = open_corpora(list(recipe.data.train), keys=keys, root=Path.cwd(), cache=default_cache())
    pairs = [corpus.pair(line) for corpus in corpora for line in range(len(corpus))]
    if args.hf_lines:
        pairs = pairs[:: max(1, len(pairs) // args.hf_lines)]
    return pairs, pieces, model


def compare(record, preset):
    """How many times as fast as each peer."""
    mine = record.arms.get(f"{preset} trimtab")
    for arm in ("hf", "hf_grouped", "eole"):
        peer = record.arms.get(f"{preset} {arm}")
        if mine and peer:
            times = mine["tokens_per_second"] / peer["tokens_per_second"]
            record.result.setdefault("times_as_fast", {})[f"{preset}, {arm}"] = round(times, 2)
    record.write()
    print(json.dumps(record.result.get("times_as_fast")), torch.__version__, flush=True)


if __name__ == "__main__":
    main()
