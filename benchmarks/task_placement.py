"""Places 100 directions of modular models on 64 GPUs, and measures what the GPUs wait and send.

    python benchmarks/task_placement.py --out benchmarks/task_placement.json

Nothing is trained: sizes of directions are drawn (log-normal, evened out by a temperature of 5), sizes of components
are those of the base preset. The bound is that of `trimtab.fit.placement.least_communicated`, which no placement can
beat and which the best one need not reach. Draws that are independent of those of the tests.
"""

import argparse
import json
import random
import statistics
import time
from pathlib import Path

from trimtab.fit.place_tasks import place_tasks
from trimtab.fit.placement import Instance, TaskToPlace, data_parallel, least_communicated

ENCODER_LAYER, DECODER_LAYER, TABLE = 12_600_000, 16_800_000, 65_500_000
"""Bytes of the gradients of a layer of the base preset, and of a table of 32,000 rows."""
SHARED = {"encoder.shared": 6 * ENCODER_LAYER, "decoder.shared": 3 * DECODER_LAYER, "embeddings": TABLE}
RANKS, DIRECTIONS, SEEDS = 64, 100, 5


def instance(languages: int, *, seed: int, own_encoders: bool) -> Instance:
    """Directions from and into the first language, then others at random; three layers for each language written, and
    with `own_encoders` one for each language read."""
    draw = random.Random(seed)
    names = [f"l{number:02}" for number in range(languages)]
    hub = [(names[0], each) for each in names[1:]] + [(each, names[0]) for each in names[1:]]
    rest = [(a, b) for a in names[1:] for b in names[1:] if a != b]
    draw.shuffle(rest)
    sizes, tasks = dict(SHARED), []
    for source, target in (hub + rest)[:DIRECTIONS]:
        needs = {*SHARED, f"decoder.{target}"}
        sizes[f"decoder.{target}"] = 3 * DECODER_LAYER
        if own_encoders:
            needs.add(f"encoder.{source}")
            sizes[f"encoder.{source}"] = ENCODER_LAYER
        tasks.append(TaskToPlace(f"{source}-{target}", draw.lognormvariate(0, 1.5) ** 0.2, frozenset(needs)))
    return Instance(tuple(tasks), sizes, RANKS)


def measured(languages: int, *, own_encoders: bool) -> dict:
    rows = []
    for seed in range(SEEDS):
        given = instance(languages, seed=seed, own_encoders=own_encoders)
        start = time.process_time()
        found = place_tasks(given)
        rows.append(
            {
                "seconds": time.process_time() - start,
                "waiting": found.waiting,
                "over_bound": found.communicated / least_communicated(given),
                "of_data_parallel": found.communicated / data_parallel(given).communicated,
                "largest_part_of_the_model": max(found.held_bytes) / sum(given.bytes_of.values()),
            }
        )
    return {
        "languages": languages,
        "layers_for_each_language_read": own_encoders,
        **{
            key: {
                "median": round(statistics.median(row[key] for row in rows), 4),
                "most": round(max(row[key] for row in rows), 4),
            }
            for key in rows[0]
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    rows = [measured(n, own_encoders=own) for own in (False, True) for n in (11, 26, 51)]
    result = {"gpus": RANKS, "directions": DIRECTIONS, "seeds": SEEDS, "models": rows}
    out.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
