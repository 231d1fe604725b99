"""The matrix of variants, each exact or refused by name, with the real library; and what must leave no folder."""

import json
import os
import shutil
from typing import get_args

import pytest
import torch

import trimtab
from tests.data.demo_pairs import demo_pairs
from tests.export.runs import of_model, trained
from tests.small_run import small_recipe, write_pairs
from trimtab import exporting
from trimtab.config.export_targets import ExportTarget, facts_of
from trimtab.config.task_facts import init_recipe
from trimtab.errors import InputError, RunFailed
from trimtab.export import write_export as module
from trimtab.export.gate import BOUND
from trimtab.export.hf.library import older_than
from trimtab.export.hf.marian import SEARCHES_TWO_VOCABULARIES
from trimtab.export.open_export import is_export
from trimtab.export.quantized import Quantized
from trimtab.export.targets import TARGETS, build_target
from trimtab.exporting import export_model
from trimtab.launch import train

pytestmark = pytest.mark.usefixtures("checks_of_data_only", "few_samples")

AFTER = {"norm_position": "after"}
SEPARATE = {
    "data.source_tokenizer": {"vocabulary_size": 290},
    "data.tokenizer": {"vocabulary_size": 300},
}
EXACT = {
    "defaults": {},
    "gelu": of_model(activation="gelu"),
    "silu": of_model(activation="silu"),
    "no biases": of_model(bias=False),
    "shared heads of keys": of_model(heads=4, kv_heads=2),
    "learned positions": of_model(positions="learned"),
    "a decoder without positions": of_model(decoder_positions="none"),
    "sides of other sizes": of_model(encoder_layers=2, encoder_heads=4, decoder_feed_forward=48),
    "norm after": of_model(**AFTER),
    "norm after, shared heads, no biases, swish": of_model(
        **AFTER, kv_heads=1, bias=False, activation="swish"
    ),
    "norm after, a source matrix": of_model(**AFTER, tie_embeddings="decoder"),
    "norm after, three matrices": of_model(**AFTER, tie_embeddings="none"),
    "norm after, two vocabularies": {**of_model(**AFTER, tie_embeddings="decoder"), **SEPARATE},
    "tags both ways": {
        "data.train.0.tags": ["<2de>"],
        "data.train.0.both_directions": True,
        "data.train.0.reverse_tags": ["<2en>"],
        "data.valid.tags": ["<2de>"],
        "data.tokenizer.vocabulary_size": 70,
    },
    "byte fallback": {"data.tokenizer.byte_fallback": True, "data.tokenizer.vocabulary_size": 320},
    "BPE": {"data.tokenizer.model": "bpe", "data.tokenizer.vocabulary_size": 80},
    "the tightest lengths": {"data.max_tokens": 9},
}
REFUSED = {
    "rms": (of_model(norm="rms"), {"model.norm": "layer"}),
    "swiglu": (of_model(activation="swiglu"), {"model.activation": "relu"}),
    "geglu": (of_model(activation="geglu"), {"model.activation": "gelu"}),
    "rotary": (of_model(positions="rotary"), {"model.positions": "sinusoidal or learned"}),
    "a rotary decoder": (
        of_model(decoder_positions="rotary"),
        {"model.decoder_positions": "sinusoidal or learned or none"},
    ),
    "matrices apart": (of_model(tie_embeddings="decoder"), {"model.tie_embeddings": "all"}),
    "norm after, learned": (of_model(**AFTER, positions="learned"), {"model.positions": "sinusoidal"}),
    "norm after, none": (
        of_model(**AFTER, decoder_positions="none"),
        {"model.decoder_positions": "sinusoidal"},
    ),
    "all at once": (
        of_model(norm="rms", activation="swiglu", positions="rotary", tie_embeddings="none"),
        {
            "model.norm": "layer",
            "model.activation": "relu",
            "model.tie_embeddings": "all",
            "model.positions": "sinusoidal",
        },
    ),
}


@pytest.mark.quick("norm after, two vocabularies")
@pytest.mark.parametrize("changes", EXACT.values(), ids=EXACT)
def test_what_the_library_can_express_comes_out_exact(tmp_path, changes, all_samples):
    run = trained(tmp_path, **changes)
    if "data.source_tokenizer" in " ".join(changes) and older_than(SEARCHES_TWO_VOCABULARIES):
        with pytest.raises(InputError, match="transformers searches only"):
            export_model(str(run), out=tmp_path / "hf")
        return
    report = export_model(str(run), out=tmp_path / "hf")
    gate = report.gate
    assert gate.passed
    assert 0 <= gate.worst_sentence < BOUND
    assert 150 < gate.lines <= 200
    assert json.loads((tmp_path / "hf" / "trimtab" / "gate.json").read_text()) == json.loads(
        json.dumps(gate.to_dict())
    )
    assert sorted(os.listdir(tmp_path)) == sorted(
        ["hf", "run", "recipe.yaml", "train.en", "train.de", "dev.en", "dev.de"]
    )


@pytest.mark.quick("all at once")
@pytest.mark.parametrize(("changes", "keys"), REFUSED.values(), ids=REFUSED)
def test_what_it_cannot_is_refused_with_every_key_before_anything_is_written(tmp_path, changes, keys):
    run = trained(tmp_path, **changes)
    with pytest.raises(InputError) as caught:
        export_model(str(run), out=tmp_path / "hf")
    told = {each.what.partition(":")[0]: each for each in caught.value.problems}
    assert told.keys() == keys.keys()
    for key, allowed in keys.items():
        assert allowed in told[key].allowed
        assert told[key].got
        assert told[key].fix
    assert not [name for name in os.listdir(tmp_path) if "hf" in name]


@pytest.mark.slow
def test_two_hundred_lines_of_real_text_are_read_scored_and_written_alike(tmp_path, all_samples):
    changes = {
        "data.tokenizer.vocabulary_size": 700,
        "data.tokenizer.byte_fallback": True,
        "data.max_tokens": 40,
        "step.tokens_per_micro_batch": 256,
        "length": "20 steps",
    }
    from tests.small_run import small_recipe
    from trimtab.launch import train

    recipe = small_recipe(tmp_path, **changes)
    write_pairs(tmp_path, "train", list(demo_pairs(1200)))
    write_pairs(tmp_path, "dev", list(demo_pairs(400, "valid")))
    run = train(recipe, out=tmp_path / "run").run
    gate = export_model(str(run), out=tmp_path / "hf").gate
    assert gate.passed
    assert gate.lines == 200
    assert gate.tokens > 2000


def spoiled(monkeypatch, change):
    """An export whose weights are changed after they are written."""
    from safetensors.torch import load_file, save_file

    target = build_target("hf")

    class Spoiling:
        name = "hf"
        files = target.files
        supports, open, as_users_open_it, card = (
            target.supports,
            target.open,
            target.as_users_open_it,
            target.card,
        )

        def write(self, model, folder):
            target.write(model, folder)
            tensors = load_file(folder / "model.safetensors")
            change(tensors)
            save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})

    monkeypatch.setattr(exporting, "build_target", lambda *_: Spoiling())


def shift_a_bias(tensors):
    tensors["model.decoder.layers.0.fc2.bias"][3] += (
        0.01  # one alone: the norm behind takes a common shift away
    )


def favour_a_piece(tensors):
    tensors["final_logits_bias"][0, 5] = 0.1


def lose_a_norm(tensors):
    tensors["model.encoder.layer_norm.weight"] = torch.full_like(
        tensors["model.encoder.layer_norm.weight"], float("nan")
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [shift_a_bias, *(pytest.param(each, marks=pytest.mark.slow) for each in (favour_a_piece, lose_a_norm))],
)
def test_an_export_that_differs_fails_with_the_evidence_and_leaves_nothing(
    trained_run, tmp_path, monkeypatch, change
):
    spoiled(monkeypatch, change)
    with pytest.raises(RunFailed, match="differs from the trainer; nothing was written") as caught:
        export_model(str(trained_run), out=tmp_path / "hf")
    assert "a token differs by at most" in str(caught.value)
    assert RunFailed.exit_code == 1
    assert os.listdir(tmp_path) == []


def test_an_interrupt_in_the_middle_leaves_nothing(trained_run, tmp_path, monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "compare_translations", interrupted)
    with pytest.raises(KeyboardInterrupt):
        export_model(str(trained_run), out=tmp_path / "hf")
    assert os.listdir(tmp_path) == []


@pytest.mark.slow
def test_until_it_is_proven_nothing_takes_the_draft_for_an_export(trained_run, tmp_path, monkeypatch):
    seen, real = [], module.compare_translations

    def looking(*arguments):
        (draft,) = tmp_path.iterdir()
        seen.append(is_export(draft))
        return real(*arguments)

    monkeypatch.setattr(module, "compare_translations", looking)
    monkeypatch.setattr(module, "write_manifest", lambda *_, **__: seen.append("card"))
    export_model(str(trained_run), out=tmp_path / "hf")
    assert seen == [False, "card"]
    assert not is_export(tmp_path / "hf"), "the card alone makes it one"


@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_nothing_is_written_over(trained_run, tmp_path, kind):
    out = tmp_path / "hf"
    match kind:
        case "folder":
            out.mkdir()
        case "file":
            out.write_text("mine")
        case "link":
            out.symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError, match="already exists"):
        export_model(str(trained_run), out=out)
    assert os.listdir(tmp_path) == ["hf"]


def test_an_export_goes_into_no_run(trained_run, tmp_path):
    run = shutil.copytree(trained_run, tmp_path / "run")
    before = sorted(run.rglob("*"))
    with pytest.raises(InputError, match="lies inside the run"):
        export_model(str(run), out=run / "hf")
    assert sorted(run.rglob("*")) == before


def test_an_unknown_target_and_half_a_text_to_compare_on_are_wrong_input(trained_run, tmp_path):
    with pytest.raises(InputError, match="--to tensorrt: unknown target"):
        export_model(str(trained_run), to="tensorrt", out=tmp_path / "hf")
    with pytest.raises(InputError, match="needs both sides"):
        export_model(str(trained_run), out=tmp_path / "hf", source="a.txt")
    with pytest.raises(InputError, match="needs both sides"):
        export_model(str(trained_run), out=tmp_path / "hf", tags=["<2de>"])
    with pytest.raises(InputError, match="no such run"):
        export_model(str(tmp_path / "none"), out=tmp_path / "hf")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("target", TARGETS)
def test_weights_that_a_target_does_not_have_are_refused_with_those_that_it_has(tmp_path, target):
    for quantized in ("int4", Quantized(kind="int4")):
        with pytest.raises(InputError) as caught:
            export_model("runs/none", to=target, out=tmp_path / "x", quantized=quantized)
        assert caught.value.problems[0].allowed == ", ".join(facts_of(target).weights)


@pytest.mark.slow
def test_a_kind_of_weights_may_be_said_by_its_name_alone(trained_run, tmp_path):
    report = export_model(str(trained_run), to="ctranslate2", out=tmp_path / "short", quantized="int8")
    full = trimtab.export_model(
        str(trained_run), to="ctranslate2", out=tmp_path / "full", quantized=trimtab.Quantized(kind="int8")
    )
    assert report.to_dict()["gate"] == full.to_dict()["gate"]
    assert report.gate.loss is not None


def test_a_run_without_a_checkpoint_is_wrong_input(trained_run, tmp_path):
    run = shutil.copytree(trained_run, tmp_path / "run")
    shutil.rmtree(run / "checkpoints")
    with pytest.raises(InputError, match="are gone"):
        export_model(str(run), out=tmp_path / "hf")
    assert os.listdir(tmp_path) == ["run"]


@pytest.fixture(scope="module")
def started_run(own_cache, tmp_path_factory):
    """A few steps of the recipe that `trimtab init` writes; what is overridden is only its size."""
    folder = tmp_path_factory.mktemp("started")
    small_recipe(folder)  # for its text
    (folder / "init.yaml").write_text(init_recipe(), encoding="utf-8")
    smaller = {
        "data.tokenizer.vocabulary_size": 300,
        "data.max_tokens": 32,
        "model.preset": "tiny",
        "evaluate.lines": 2,
        "step.tokens_per_step": 512,
        "step.tokens_per_micro_batch": 512,
        "step.schedule.warmup": "1 steps",
        "length": "2 steps",
    }
    overrides = [f"{key}={value}" for key, value in smaller.items()]
    return train(folder / "init.yaml", overrides=overrides, out=folder / "run").run


@pytest.mark.quick("ctranslate2")
@pytest.mark.parametrize(
    "target", [each for each in get_args(ExportTarget) if facts_of(each).takes("encoder_decoder")]
)
def test_a_run_of_the_recipe_to_start_from_is_exported_for_every_target(started_run, tmp_path, target):
    folder = started_run.parent
    for side in ("en", "de"):  # a few lines: an untrained model writes each to its end
        lines = (folder / f"dev.{side}").read_text().splitlines(keepends=True)
        (tmp_path / side).write_text("".join(lines[:4]))
    exported = export_model(
        f"{started_run}@last",
        to=target,
        out=tmp_path / "exported",
        source=tmp_path / "en",
        reference=tmp_path / "de",
    )
    assert any(exported.folder.iterdir())
