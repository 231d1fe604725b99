"""Variants of the model, the loss and the step, together in one run on some lines of the sample that trimtab brings."""

import lzma
from importlib.resources import files
from itertools import islice

import pytest

from tests.small_run import small_recipe
from trimtab.checkpoint.journal import read_journal
from trimtab.inference import load_translator
from trimtab.launch import train

VARIANTS = {
    "grouped heads, a gate, no positions in the decoder": {
        "model.heads": 4,
        "model.kv_heads": 2,
        "model.activation": "geglu",
        "model.positions": "rotary",
        "model.decoder_positions": "none",
        "model.bias": False,
    },
    "sides of different sizes": {
        "model.encoder_heads": 4,
        "model.decoder_kv_heads": 1,
        "model.decoder_layers": 2,
        "model.encoder_feed_forward": 96,
        "model.activation": "silu",
        "model.norm": "rms",
    },
}
RUN = {
    "data.tokenizer": {"vocabulary_size": 400, "byte_fallback": False},
    "loss": {"label_smoothing": 0.1, "truncate": {"error_norm": 1.1, "after": "20 steps"}},
    "step.tokens_per_step": 1024,
    "step.tokens_per_micro_batch": 512,
    "step.batch_warmup": {"start": 256, "over": "20 steps"},
    "length": "60 steps",
    "evaluate.every": "60 steps",
    "evaluate.metrics": ["chrf"],
    "checkpoint.every": "30 steps",
    "data.max_tokens": 96,
}


def real_recipe(folder, **changes):
    """A recipe over 300 pairs of the sample."""
    path = small_recipe(folder, **RUN, **changes)
    with lzma.open(files("trimtab.demo").joinpath("data", "train.tsv.xz"), "rt", encoding="utf-8") as sample:
        pairs = [line.rstrip("\n").split("\t") for line in islice(sample, 320)]
    for name, some in (("train", pairs[:300]), ("dev", pairs[300:])):
        for side, index in (("en", 0), ("de", 1)):
            text = "".join(pair[index] + "\n" for pair in some)
            (folder / f"{name}.{side}").write_text(text, encoding="utf-8")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)
def test_a_run_with_them_learns_translates_and_goes_on_exactly_after_a_stop(tmp_path, changes):
    recipe = real_recipe(tmp_path, **changes)
    whole = train(recipe, out=tmp_path / "whole")
    metrics = list(read_journal(whole.run / "metrics.jsonl"))
    assert metrics[-1]["loss"] < 0.8 * metrics[0]["loss"]
    assert metrics[0]["target_tokens"] <= 256 < metrics[-1]["target_tokens"]
    assert metrics[19]["truncated"] == 0 < max(line["truncated"] for line in metrics[20:])
    translations = load_translator(f"{whole.run}@last", beam=2).translate(
        ["Refreshes the selected theme."] * 3
    )
    assert len(set(translations)) == 1
    train(recipe, out=tmp_path / "stopped", overrides=["length=60 steps", "checkpoint.keep=9"])
    last = tmp_path / "stopped" / "checkpoints" / "step-00000060"
    last.rename(last.with_name("gone"))
    resumed = train(recipe, out=tmp_path / "stopped", resume=True)
    again = list(read_journal(resumed.run / "metrics.jsonl"))
    for key in ("target_tokens", "loss", "truncated", "grad_norm"):
        assert [line[key] for line in again] == [line[key] for line in metrics]
