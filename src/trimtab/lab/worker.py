"""A process that makes runs one after another, so that torch starts once: jobs come on stdin, records go to stdout.

python -m trimtab.lab.worker, started by `trimtab.lab.pool`; a line of JSON each way.
"""

import json
import math
import os
import shutil
import sys
import time
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from trimtab.config.load import LoadedRecipe

TOKENIZER = "tokenizer/sentencepiece.model"
"""In a run's folder."""
POINTS = 40
"""So many points of the loss are kept."""


def main() -> None:
    """Until stdin ends. What anything prints goes to stderr, so that stdout holds records alone."""
    records, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        job = json.loads(line)
        answer(records, made(job))
        release_memory()


def release_memory() -> None:
    """What a run leaves on the device is given back before the next one, for others that share it."""
    import gc

    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def answer(records: TextIO, record: dict[str, Any]) -> None:
    """One line, at once."""
    records.write(json.dumps(record) + "\n")
    records.flush()


def made(job: dict[str, Any]) -> dict[str, Any]:
    """Trains a job's recipe in its folder and says how it ended; the folder keeps nothing but the record."""
    from trimtab import launch
    from trimtab.config.load import load_recipe
    from trimtab.errors import InputError, RunFailed, TrimtabError

    folder, begun = Path(job["folder"]), time.perf_counter()
    shutil.rmtree(folder, ignore_errors=True)
    record: dict[str, Any] = {"key": job["key"]}
    pieces: Path | None = None
    try:
        loaded = load_recipe(Path(job["recipe"]), job["overrides"])
        pieces = shared_pieces(loaded, Path(job["tokenizers"]))
        if pieces is not None and pieces.exists():
            overrides = {**job["overrides"], "data.tokenizer.path": str(pieces.absolute())}
            loaded = load_recipe(Path(job["recipe"]), overrides)
        result = launch.train(loaded, out=folder)
        record |= {"ended": "finished", "steps": result.state.step}
    except InputError as error:
        record |= {"ended": "refused", "error": str(error)}
    except RunFailed as error:
        record |= {"ended": "failed", "error": str(error)}
    except TrimtabError as error:  # a full disk, or a signal: it may go better another time
        record |= {"ended": "stopped", "error": str(error)}
    except (RuntimeError, MemoryError) as error:
        record |= {"ended": "stopped", "error": f"{type(error).__name__}: {error}"[:2000]}
    if folder.is_dir():
        record |= measured(folder)
        keep_pieces(folder / TOKENIZER, pieces)
    if record["ended"] == "failed" and not record.get("course"):
        record["ended"] = "refused"  # by a check before the first step: nothing was trained
    record["seconds"] = round(time.perf_counter() - begun, 1)
    shutil.rmtree(folder, ignore_errors=True)
    return record


def shared_pieces(loaded: "LoadedRecipe", folder: Path) -> Path | None:
    """Where the vocabulary is kept that this recipe trains, for other runs of the same one; None if it trains none, or
    one for each side."""
    from trimtab.config.tokenizer import SentencePieceTokenizer

    data = loaded.recipe.data
    own = data.tokenizer
    if (
        not isinstance(own, SentencePieceTokenizer)
        or own.path is not None
        or data.source_tokenizer is not None
    ):
        return None
    kept = own.model_copy(update={"sampling": None})
    # The task, because a language model that translates has a piece between source and target.
    trained_on = repr((loaded.recipe.task, data.root, data.train, kept, data.transforms, data.source_factors))
    return folder / f"{sha256(trained_on.encode()).hexdigest()[:16]}.model"


def keep_pieces(trained: Path, pieces: Path | None) -> None:
    """Keeps the vocabulary that a run has trained; whole or not at all, since others may look for it now."""
    if pieces is None or pieces.exists() or not trained.is_file():
        return
    pieces.parent.mkdir(parents=True, exist_ok=True)
    part = pieces.with_suffix(f".{os.getpid()}.part")
    shutil.copyfile(trained, part)
    part.replace(pieces)


def measured(folder: Path) -> dict[str, Any]:
    """The last scores of each set, the course of the loss, and what was found on the way."""
    scores: dict[str, dict[str, float]] = {}
    for row in rows(folder / "evaluations.jsonl"):
        numbers = {name: value for name, value in row.items() if isinstance(value, int | float)}
        scores[str(row["set"])] = {name: value for name, value in numbers.items() if math.isfinite(value)}
    steps = rows(folder / "metrics.jsonl")
    every = max(1, len(steps) // POINTS)
    kept = [row for row in steps[every - 1 :: every] if math.isfinite(row.get("loss") or math.nan)]
    return {
        "scores": scores,
        "course": [[row["step"], round(row["loss"], 4)] for row in kept],
        "skipped": sum(bool(row.get("skipped")) for row in steps),
        "findings": sorted({str(row.get("code")) for row in rows(folder / "findings.jsonl")}),
    }


def rows(path: Path) -> list[dict[str, Any]]:
    """The lines of a log, none where it was not begun; one that was cut off is left out."""
    if not path.is_file():
        return []
    found: list[dict[str, Any]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


if __name__ == "__main__":
    main()
