"""Does the data pipeline keep up? Windows from raw text, cut into packs as a GPU gets them; no model runs.

    python benchmarks/data_pipeline.py --data DIR --out result.json [--workers 0,1,2,4,8,16] [--needs 1200000]

DIR is as for `translation_speed.py`. Everything that `trimtab train` does on the CPU is done: lines are read in the
order of the seed, transformed, split into pieces, dropped or kept, put into windows and cut into packs. Real tokens of
source and target a second, the median of three windows of time, by the number of worker processes. A worker gives a
chunk of lines at a time, so what is measured begins when each worker has given some, and a window of time is as long as
it takes until each has given some more, however few seconds were asked for.

- `plain`: the recipe as it is;
- `online`: normalised, filtered by length and ratio and runs of characters, and split by chance, again each
  time that a line is seen.

`--needs` is what a GPU takes in, from `translation_speed.json`; the pipeline should give twice as much.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import torch
from record import Record
from timed_run import RECIPE, data_in

from trimtab.build import build
from trimtab.choices import shape_for
from trimtab.config.load import load_recipe
from trimtab.config.paths import resolve_paths
from trimtab.data.loader import POSITIONS_PER_CHUNK
from trimtab.progress import Silent
from trimtab.tasks.task_of import open_datasets

REPETITIONS = 3
CHUNKS_BEFORE, CHUNKS_EACH = 2, 2
"""Of each worker, before it is measured and in each window of time."""
ONLINE = [
    "data.transforms=[{kind: normalize}, {kind: length}, {kind: ratio}, {kind: character_run}]",
    "data.tokenizer.sampling={kind: subword_regularization}",
]
KINDS = {"plain": [], "online": ONLINE}


def main():
    args = arguments()
    record = Record(
        args.out,
        question="real tokens a second from raw text, by the number of worker processes",
        device="cpu",
        needs=args.needs,
        online=ONLINE,
    )
    for kind in args.kinds.split(","):
        with tempfile.TemporaryDirectory() as folder:
            opened = opened_for(args, kind, Path(folder))
            for workers in map(int, args.workers.split(",")):
                record.arm(f"{kind}, {workers} workers", lambda w=workers, o=opened: delivered(args, *o, w))
        best = max(
            (each["tokens_per_second"] for name, each in record.arms.items() if name.startswith(kind)),
            default=0,
        )
        if args.needs:
            record.result.setdefault("times_the_need", {})[kind] = round(best / args.needs, 2)
            record.write()


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--recipe", default=str(RECIPE))
    parser.add_argument("--kinds", default="plain,online")
    parser.add_argument("--workers", default="0,1,2,4,8,16")
    parser.add_argument("--seconds", type=float, default=6.0, help="measured of each, in three windows")
    parser.add_argument("--warm-seconds", type=float, default=1.5)
    parser.add_argument("--needs", type=float, help="tokens a second that the GPU takes in")
    parser.add_argument("overrides", nargs="*")
    return parser.parse_args()


def opened_for(args, kind, folder):
    """The recipe with its data opened."""
    changes = [*data_in(args.data), *KINDS[kind], "model.preset=tiny", *args.overrides]
    recipe = resolve_paths(load_recipe(args.recipe, changes))
    return recipe, open_datasets(recipe, tokenizer_folder=folder / "tokenizer", progress=Silent())


def delivered(args, recipe, sources, workers):
    """Windows that nobody trains on, for some seconds."""
    data = recipe.data.model_copy(update={"workers": workers})
    parts = build(recipe.model_copy(update={"data": data}), sources, device=torch.device("cpu"))
    parts.batching.shape = shape_for(
        recipe, sources.lengths, packed=True, slots_per_target=sources.slots_per_target
    )
    stream = parts.stream.host_batches(0)
    begun = time.perf_counter()
    window, _ = next(stream)
    first = time.perf_counter() - begun
    team = max(1, workers) * POSITIONS_PER_CHUNK
    # The first window is counted too: a worker that starts late is waited for.
    _, place = taken(stream, window.position, args.warm_seconds, CHUNKS_BEFORE * team - window.position)
    each, chunks = [], []
    for _ in range(REPETITIONS):
        rate, end = taken(stream, place, args.seconds / REPETITIONS, CHUNKS_EACH * team)
        each.append(rate)
        chunks.append((end - place) / POSITIONS_PER_CHUNK)
        place = end
    stream.close()
    return {
        "tokens_per_second": round(statistics.median(each)),
        "each": [round(rate) for rate in each],
        "chunks_each": [round(count, 1) for count in chunks],
        "seconds_to_first_window": round(first, 2),
    }


def taken(stream, start, seconds, positions):
    """Real tokens a second over so many seconds and positions of the stream at least, and the position then."""
    begun, tokens, place = time.perf_counter(), 0, start
    while not tokens or time.perf_counter() - begun < seconds or place - start < positions:
        window, _ = next(stream)
        place = window.position
        tokens += window.num_tokens
    return tokens / (time.perf_counter() - begun), place


if __name__ == "__main__":
    main()
