"""How fast Eole trains a model of the same size: real tokens a second by its own log, in windows of time."""

import json
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path

from hf_speed import SIZES
from timed_run import window_rates

REPORT_EVERY = 20
LONGEST = 128
REPORT = re.compile(r"^\[([\d-]+ [\d:,]+) INFO\] Step (\d+)/.* bsz: *(\d+)/ *(\d+)/.* tok/s")


def best_of(pairs, pieces, model, *, preset, tries, seconds, device, report_every=REPORT_EVERY):
    """The rates with each of TOKENS[:HOW], of which the fastest counts; one that fails is recorded with its error.

    HOW is `mixed` (the default; on a GPU, Eole then has float16 products and a loss scale, whichever half precision is
    asked for) or `pure`: weights in bfloat16 throughout, as its recipe for NewsPalm has it.
    """
    found = []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for side, texts in zip(("src", "tgt"), zip(*pairs, strict=True), strict=True):
            (place / f"train.{side}").write_text("\n".join(texts) + "\n", encoding="utf-8")
        write_vocabulary(place / "vocabulary", pieces)
        for each in tries:
            settings = recipe(
                place, model, pieces, preset=preset, tried=each, device=device, report_every=report_every
            )
            try:
                reports = reported(place, settings, seconds=seconds, report_every=report_every)
                found.append({"tried": each, **window_rates(reports, after=3 * report_every)})
            except (RuntimeError, ValueError) as error:
                found.append({"tried": each, "tokens_per_second": 0, "error": str(error)[-500:]})
            print("Eole", preset, found[-1], flush=True)
    best = max(found, key=lambda each: each["tokens_per_second"])
    if not best["tokens_per_second"]:
        raise RuntimeError(best["error"])
    return {**best, "all": found}


def write_vocabulary(path, pieces):
    """Pieces with counts, as `eole tools spm_to_vocab` writes them."""
    ids = [i for i in range(pieces.get_piece_size()) if not (pieces.is_control(i) or pieces.is_unknown(i))]
    lines = (f"{pieces.id_to_piece(i)}\t{int(1e6 * math.exp(pieces.get_score(i))) + 1}\n" for i in ids)
    path.write_text("".join(lines), encoding="utf-8")


def recipe(place, model, pieces, *, preset, tried, device, report_every):
    """Pre-norm, sines, one matrix for all embeddings, and half precision as `tried` says."""
    size, cuda = SIZES[preset], device == "cuda"
    batch, _, how = tried.partition(":")
    both = {f"{side}_subword_model": str(model) for side in ("src", "tgt")}
    return {
        "overwrite": True,
        "seed": 1,
        "report_every": report_every,
        **{f"{side}_vocab": str(place / "vocabulary") for side in ("src", "tgt")},
        **{f"{side}_vocab_size": pieces.get_piece_size() for side in ("src", "tgt")},
        "vocab_size_multiple": 8,
        "share_vocab": True,
        "n_sample": 0,
        "data": {"all": {f"path_{side}": str(place / f"train.{side}") for side in ("src", "tgt")}},
        "transforms": ["sentencepiece", "filtertoolong"],
        "transforms_configs": {
            "sentencepiece": both,
            "filtertoolong": {f"{side}_seq_length": LONGEST for side in ("src", "tgt")},
        },
        "training": {
            "model_path": str(place / "model"),
            **dict.fromkeys(("save_checkpoint_steps", "train_steps", "valid_steps"), 10**6),
            "world_size": 1,
            "gpu_ranks": [0] if cuda else [],
            "batch_type": "tokens",
            "batch_size": int(batch),
            "batch_size_multiple": 8 if cuda else 1,
            "accum_count": [1],
            "accum_steps": [0],
            "compute_dtype": "bf16" if cuda or how == "pure" else "fp32",
            "use_amp": how != "pure",
            "optim": "adamw",
            "learning_rate": 1e-4,
            "decay_method": "none",
            "bucket_size": 65536,
            "num_workers": 4 if cuda else 0,
            "prefetch_factor": 100 if cuda else 2,
            "dropout": [0.1],
            "attention_dropout": [0.0],
            "max_grad_norm": 1.0,
            "label_smoothing": 0.1,
            "normalization": "tokens",
        },
        "model": {
            "architecture": "transformer",
            "hidden_size": size["dim"],
            "layers": size["layers"],
            "heads": size["heads"],
            "transformer_ff": size["feed_forward"],
            "share_decoder_embeddings": True,
            "share_embeddings": True,
            "embeddings": {"word_vec_size": size["dim"], "position_encoding_type": "SinusoidalInterleaved"},
        },
    }


def reported(place, settings, *, seconds, report_every, patience=120.0):
    """Runs `eole train` until its reports cover so many seconds after its first ones, and gives them."""
    file, log = place / "recipe.yaml", place / "log"
    file.write_text(json.dumps(settings), encoding="utf-8")  # JSON is YAML too
    begun, found = time.perf_counter(), []
    before = signal.signal(
        signal.SIGTERM, lambda *_: sys.exit(143)
    )  # so that it does not outlive this process
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "eole.bin.main", "train", "--config", str(file)],
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            while time.perf_counter() - begun < patience + seconds and process.poll() is None:
                time.sleep(0.5)
                found = reports_in(log.read_text(encoding="utf-8", errors="replace"), report_every)
                warm = [each["seconds"] for each in found if each["step"] >= 3 * report_every]
                if len(warm) > 6 and warm[-1] - warm[0] >= seconds:
                    return found
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            signal.signal(signal.SIGTERM, before)
    raise RuntimeError(f"Eole ended or came to no reports: {log.read_text(errors='replace')[-700:]}")


def reports_in(text, report_every):
    """Step, time and real tokens of both sides of each report."""
    found = []
    for line in text.splitlines():
        if match := REPORT.match(line):
            at, step, source, target = match.groups()
            when = datetime.strptime(at, "%Y-%m-%d %H:%M:%S,%f").timestamp()
            tokens = (int(source) + int(target)) * report_every
            found.append({"step": int(step), "seconds": when, "tokens": tokens})
    return found
