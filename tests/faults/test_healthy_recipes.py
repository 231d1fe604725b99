"""Runs that are well, as unlike one another as recipes can make them: nothing is found in any of them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.document_run import document_recipe
from tests.small_run import small_recipe
from tests.test_real_text import real_recipe
from trimtab.build import Parts, build
from trimtab.config.load import load_recipe
from trimtab.config.paths import resolve_paths
from trimtab.launch import train
from trimtab.progress import Silent
from trimtab.tasks.task_of import open_datasets
from trimtab.training.preflight import preflight

TAGS = {
    "data.tokenizer": {"vocabulary_size": 320},
    "data.train.0.tags": ["<plain>"],
    "data.valid.tags": ["<plain>"],
}
RECIPES = {
    "as it comes": (small_recipe, {}),
    "adafactor, smoothing, z-loss, rms norms after, rotary": (
        small_recipe,
        {
            "step.optimizer": {"kind": "adafactor", "weight_decay": 0.01},
            "step.schedule": {"kind": "inverse_sqrt", "warmup": "10 steps"},
            "loss": {"label_smoothing": 0.1, "z_loss": 1e-4},
            "model.norm_position": "after",
            "model.norm": "rms",
            "model.positions": "rotary",
            "model.dropout": 0.0,
        },
    ),
    "lion, learned positions, tied decoder, swiglu, tags": (
        small_recipe,
        {
            "step.optimizer": {"kind": "lion", "weight_decay": 0.1},
            "step.schedule": {"kind": "cosine", "warmup": "5 steps", "floor": 0.1},
            "step.clip": {"kind": "off"},
            "model.positions": "learned",
            "model.tie_embeddings": "decoder",
            "model.activation": "swiglu",
            "model.layers": 3,
            **TAGS,
        },
    ),
    "sgd, adaptive clipping, constant rate, nothing tied, deep and after": (
        small_recipe,
        {
            "step.optimizer": {"kind": "sgd", "learning_rate": 0.1, "weight_decay": 1e-3, "nesterov": True},
            "step.schedule": {"kind": "constant"},
            "step.clip": {"kind": "adaptive"},
            "model.tie_embeddings": "none",
            "model.norm_position": "after",
            "model.layers": 4,
            "model.dropout": 0.3,
        },
    ),
    "stable adamw, half precision, weights bounded, grouped heads, geglu": (
        small_recipe,
        {
            "step.optimizer": {"kind": "stable_adamw", "weight_decay": 0.1},
            "step.schedule": {"kind": "warmup_stable_decay", "warmup": "8 steps"},
            "step.precision": "bf16_mixed",
            "step.weight_clip": 2,
            "model.dim": 64,
            "model.heads": 4,
            "model.kv_heads": 1,
            "model.activation": "geglu",
            "model.bias": False,
        },
    ),
    "two vocabularies, sides of different shape, noam": (
        small_recipe,
        {
            "data.source_tokenizer": {"vocabulary_size": 290},
            "data.tokenizer": {"vocabulary_size": 300},
            "model.tie_embeddings": "decoder",
            "model.encoder_layers": 3,
            "model.decoder_kv_heads": 1,
            "model.encoder_feed_forward": 96,
            "step.optimizer.learning_rate": 0.5,
            "step.schedule": {"kind": "noam", "warmup": "20 steps"},
        },
    ),
    "documents with the sentences before, one cycle": (
        document_recipe,
        {"step.schedule": {"kind": "one_cycle"}, "model.decoder_positions": "none"},
    ),
    "steps as small as an example, lengths in epochs": (
        small_recipe,
        {
            "step.tokens_per_step": 32,
            "step.tokens_per_micro_batch": 32,
            "step.schedule": {"kind": "exponential", "warmup": "1 epochs"},
            "length": "3 epochs",
            "data.valid": None,
        },
    ),
    "rates by role, as muP has them for four times the width": (
        small_recipe,
        {
            "step.optimizer": {
                "kind": "adamw",
                "learning_rate": 1e-2,
                "weight_decay": 0.4,
                "learning_rate_multipliers": {"embedding": 0.5, "hidden": 0.25, "output": 0.25},
            },
            "model.tie_embeddings": "none",
        },
    ),
    "real text, steps that grow, truncation": (real_recipe, {"model.activation": "silu"}),
    "real text, grouped heads, rotary, a larger decay": (
        real_recipe,
        {
            "model.heads": 4,
            "model.kv_heads": 2,
            "model.positions": "rotary",
            "model.norm": "rms",
            "model.layers": 2,
            "step.optimizer": {"kind": "adamw", "learning_rate": 3e-3, "weight_decay": 0.3},
            "step.schedule": {"kind": "linear_warmup", "warmup": "1 steps"},
        },
    ),
    "experts that decay, positions by distance, norms around sub-layers, registers, all layers of the encoder": (
        small_recipe,
        {
            "model.experts": {"count": 3, "active": 2},
            "step.optimizer": {"kind": "adamw", "learning_rate": 2e-3, "weight_decay": 0.1},
            "model.positions": "shaw",
            "model.norm_position": "sandwich",
            "model.registers": 2,
            "model.encoder_mix": "softmax",
        },
    ),
    "no norms but ReZero, leaky ReLU, absolute positions that fade": (
        small_recipe,
        {
            "model.norm_position": "none",
            "model.rezero": True,
            "model.activation": "leaky_relu",
            "model.positions": "learned+rotary",
            "model.absolute_fade": "10 steps",
        },
    ),
}
TRAINED = {
    # These begin near the identity, and have not learned to read the source by the end of so few steps.
    "experts that decay, positions by distance, norms around sub-layers, registers, all layers of the encoder": {
        "data.valid": None
    },
    "no norms but ReZero, leaky ReLU, absolute positions that fade": {"data.valid": None},
    "as it comes": {},
    "adafactor, smoothing, z-loss, rms norms after, rotary": {},
    "rates by role, as muP has them for four times the width": {},
    # So early a translator of real sentences gives one answer to all of them, and is rightly told so.
    "real text, grouped heads, rotary, a larger decay": {"data.valid": None},
}


def built(path: Path) -> Parts:
    recipe = resolve_paths(load_recipe(path))
    return build(recipe, open_datasets(recipe, tokenizer_folder=path.parent / "tokenizer", progress=Silent()))


@pytest.mark.quick(
    "adafactor, smoothing, z-loss, rms norms after, rotary",
    "experts that decay, positions by distance, norms around sub-layers, registers, all layers of the encoder",
    "no norms but ReZero, leaky ReLU, absolute positions that fade",
)
@pytest.mark.parametrize(("write", "changes"), RECIPES.values(), ids=RECIPES)
def test_nothing_is_found_before_the_first_step(tmp_path, write: Callable[..., Path], changes):
    assert [str(each) for each in preflight(built(write(tmp_path, **changes)))] == []


@pytest.mark.quick("rates by role, as muP has them for four times the width")
@pytest.mark.parametrize(("name", "besides"), TRAINED.items(), ids=TRAINED)
def test_nothing_is_found_in_a_short_run(tmp_path, name, besides):
    write, changes = RECIPES[name]
    result = train(write(tmp_path, **changes, **besides), out=tmp_path / "run")
    assert [str(each) for each in result.findings] == []


def test_they_are_ten_at_least():
    assert len(RECIPES) >= 10
