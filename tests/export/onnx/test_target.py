"""The matrix of native variants, each exact, with ONNX Runtime itself on the CPU; and what the folder is to others."""

import os
import re
import runpy
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from tests.data.demo_pairs import demo_pairs
from tests.export.runs import trained
from tests.export.variants import variant
from tests.small_run import small_pairs, small_recipe, write_pairs
from trimtab.config.export_targets import facts_of
from trimtab.errors import InputError, RunFailed
from trimtab.evaluation.translations import evaluate
from trimtab.export import write_export as module
from trimtab.export.gate import BOUND
from trimtab.export.onnx.target import Onnx
from trimtab.export.open_export import is_export
from trimtab.export.quantized import Quantized
from trimtab.export.samples import gate_lines
from trimtab.export.target import Target, TranslatesLines
from trimtab.export.targets import build_target
from trimtab.export.translation_gate import compare_translations
from trimtab.exporting import export_model
from trimtab.inference import load_model, load_translator
from trimtab.launch import train

PAGE = Path(__file__).parents[3] / "docs" / "how_to" / "export_onnx.md"
LINES = [source for source, _ in small_pairs(30, seed=12)]
VARIANTS = {
    "defaults": {},
    "norm after": {"norm_position": "after", "activation": "gelu"},
    "rms, rotary, swiglu, shared heads, no biases": {
        "norm": "rms", "positions": "rotary", "activation": "swiglu", "kv_heads": 2, "bias": False,
    },
    "rms after, geglu, learned, one head of keys": {
        "norm": "rms", "norm_position": "after", "activation": "geglu", "positions": "learned", "kv_heads": 1,
    },
    "a decoder without positions, silu, a source matrix": {
        "decoder_positions": "none", "activation": "silu", "tie_embeddings": "decoder",
    },
    "a rotary decoder with other heads, three matrices": {
        "decoder_positions": "rotary", "decoder_heads": 2, "tie_embeddings": "none", "activation": "swish",
    },
    "sides of other sizes": {
        "encoder_layers": 1, "decoder_layers": 3, "encoder_heads": 8, "encoder_feed_forward": 24,
        "decoder_kv_heads": 2, "positions": "learned", "decoder_positions": "sinusoidal",
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def loaded(trained_run):
    return load_model(str(trained_run), device="cpu")


def run_text(code, folder):
    (folder / "code.py").write_text(code, encoding="utf-8")
    return runpy.run_path(str(folder / "code.py"))


def gate(model, folder, kind="float32"):
    folder.mkdir()
    target = Onnx(kind)
    assert target.supports(model.recipe, model.tokenizers) == []
    target.write(model, folder)
    return compare_translations(
        model, target.as_users_open_it(folder), gate_lines(model, count=24), Quantized(kind=kind)
    )


@pytest.mark.quick("rms, rotary, swiglu, shared heads, no biases")
@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)
def test_every_variant_of_the_model_comes_out_exact(loaded, tmp_path, changes):
    found = gate(variant(loaded, **changes), tmp_path / "onnx")
    assert found.passed
    assert 0 < found.worst_token < BOUND / 5
    assert found.lines == 24


ALL = {
    "norm": ["layer", "rms"],
    "norm_position": ["before", "after"],
    "positions": ["sinusoidal", "learned", "rotary"],
    "decoder_positions": ["sinusoidal", "learned", "rotary", "none"],
    "kv_heads": [4, 2],
    "activation": ["relu", "gelu", "silu", "swiglu", "geglu"],
    "tie_embeddings": ["all", "decoder", "none"],
}


@pytest.mark.slow
@pytest.mark.parametrize("kinds", list(product(*list(ALL.values())[:4])))
def test_every_pair_of_positions_with_every_norm_comes_out_exact(loaded, tmp_path, kinds):
    names = list(ALL)
    number = sum(options.index(kind) for options, kind in zip(ALL.values(), kinds, strict=False))
    others = {name: ALL[name][number % len(ALL[name])] for name in names[4:]}
    found = gate(variant(loaded, **dict(zip(names, kinds, strict=False)), **others), tmp_path / "onnx")
    assert found.passed


@pytest.mark.quick("float16-0.02")
@pytest.mark.parametrize(("kind", "most"), [("float16", 0.02), ("int8", 0.3), ("int8_reduced", 0.6)])
def test_rounded_weights_are_near_the_exact_ones_and_take_less_room(loaded, tmp_path, kind, most):
    exact = gate(loaded, tmp_path / "exact")
    found = gate(loaded, tmp_path / "rounded", kind)
    assert exact.loss is None
    assert found.loss is not None
    assert 10 * exact.worst_token < found.worst_token < most
    sizes = [(tmp_path / name / "model.onnx.data").stat().st_size for name in ("exact", "rounded")]
    assert sizes[1] < (0.6 if kind == "float16" else 0.4) * sizes[0]


@pytest.mark.slow
def test_a_vocabulary_of_the_sources_own_and_tags_come_out_exact(tmp_path):
    changes = {
        "model.tie_embeddings": "decoder",
        "data.source_tokenizer": {"vocabulary_size": 290},
        "data.tokenizer": {"vocabulary_size": 300},
        "data.train.0.tags": ["<2de>"],
        "data.valid.tags": ["<2de>"],
    }
    run = trained(tmp_path, **changes)
    report = export_model(str(run), to="onnx", out=tmp_path / "onnx")
    assert report.gate.passed
    assert {"source.spm", "target.spm"} <= set(os.listdir(tmp_path / "onnx"))
    sides = [load_translator(str(each), tags=["<2de>"], device="cpu") for each in (run, tmp_path / "onnx")]
    assert sides[0].translate(LINES) == sides[1].translate(LINES)


def test_a_kind_of_weights_that_there_is_not_is_refused(trained_run, tmp_path):
    with pytest.raises(InputError, match="--quantization bfloat16"):
        export_model(str(trained_run), to="onnx", out=tmp_path / "x", quantized=Quantized(kind="bfloat16"))
    assert os.listdir(tmp_path) == []


def test_it_is_a_target_and_gives_what_can_be_compared(onnx_run):
    assert isinstance(build_target("onnx"), Target)
    assert isinstance(Onnx().as_users_open_it(onnx_run), TranslatesLines)
    assert is_export(onnx_run)


@pytest.mark.slow
def test_it_translates_and_evaluates_like_its_run(trained_run, onnx_run):
    run = f"{trained_run}@last"
    lines = [*LINES, "", " ".join(LINES[:12]), "the </s> ship <pad>"]
    for beam in (1, 4):
        pair = [load_translator(each, beam=beam, device="cpu") for each in (run, str(onnx_run))]
        assert pair[1].translate(lines) == pair[0].translate(lines)
    lists = [each.n_best(LINES[:6], n=3, prefixes="das") for each in pair]
    assert [[each.text for each in few] for few in lists[1]] == [
        [each.text for each in few] for few in lists[0]
    ]
    files = {"source": trained_run.parent / "dev.en", "reference": trained_run.parent / "dev.de"}
    ours, theirs = (evaluate(each, **files) for each in (run, str(onnx_run)))
    assert (theirs.bleu, theirs.chrf) == (ours.bleu, ours.chrf)
    assert theirs.loss == pytest.approx(ours.loss, abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["float32", *facts_of("onnx").weights[1:]])
def test_two_hundred_lines_of_real_text_keep_within_the_stated_loss(tmp_path, kind, all_samples):
    changes = {
        "data.tokenizer.vocabulary_size": 700,
        "data.tokenizer.byte_fallback": True,
        "data.max_tokens": 64,
        "step.tokens_per_micro_batch": 256,
        "length": "300 steps",
    }
    recipe = small_recipe(tmp_path, **changes)
    write_pairs(tmp_path, "train", list(demo_pairs(1200)))
    write_pairs(tmp_path, "dev", list(demo_pairs(400, "valid")))
    run = train(recipe, out=tmp_path / "run").run
    quantized = Quantized(kind=kind, most_loss=25.0)  # of a model that has learned little, so ties are near
    gate = export_model(str(run), to="onnx", out=tmp_path / "onnx", quantized=quantized).gate
    assert gate.passed
    assert gate.lines == 200
    assert gate.tokens > 2000


@pytest.mark.quick("float32")
@pytest.mark.parametrize("kind", ["float32", "int8"])
def test_an_export_that_differs_fails_with_the_evidence_and_leaves_nothing(
    trained_run, tmp_path, monkeypatch, kind
):
    write = Onnx.write

    def spoil(self, model, folder):
        write(self, model, folder)
        with open(folder / "model.onnx.data", "r+b") as weights:
            moved = np.roll(np.frombuffer(weights.read(), np.uint8), 256)
            weights.seek(0)
            weights.write(moved.tobytes())

    monkeypatch.setattr(Onnx, "write", spoil)
    with pytest.raises(RunFailed, match="differs from the trainer; nothing was written") as caught:
        export_model(
            str(trained_run), to="onnx", out=tmp_path / "x", quantized=Quantized(kind=kind, most_loss=2.0)
        )
    assert "a token differs by at most" in str(caught.value)
    assert os.listdir(tmp_path) == []


def test_an_interrupt_in_the_middle_leaves_nothing(trained_run, tmp_path, monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "compare_translations", interrupted)
    with pytest.raises(KeyboardInterrupt):
        export_model(str(trained_run), to="onnx", out=tmp_path / "x")
    assert os.listdir(tmp_path) == []


def test_the_card_names_the_code_that_prints_a_translation_and_the_limits_of_the_kind(
    loaded, onnx_run, tmp_path, capsys
):
    code = Onnx().usage(str(onnx_run)).replace("A line.", LINES[0])
    assert code in (onnx_run / "README.md").read_text().replace("A line.", LINES[0]).replace(
        '"small"', f'"{onnx_run}"'
    )
    run_text(code, tmp_path)
    assert capsys.readouterr().out.strip() == str(load_translator(str(onnx_run)).translate([LINES[0]]))
    said = {kind: " ".join(Onnx(kind).limits(loaded)) for kind in facts_of("onnx").weights}
    assert "one scale for all" in said["int8"]
    assert "without VNNI too" in said["int8_reduced"]
    assert "CPUs compute float16 slowly" in said["float16"]
    assert "8 bits" not in said["float32"]


@pytest.mark.slow
def test_whoever_has_onnxruntime_alone_can_translate_with_it(onnx_run, tmp_path):
    """As the page for users does it: greedy, without trimtab."""
    (code,) = re.findall(r"(?s)```python\n(.*?)```", PAGE.read_text(encoding="utf-8"))
    assert "trimtab" not in code
    greedy = load_translator(str(onnx_run), beam=1, device="cpu")
    for line in LINES[:4]:
        found = run_text(code.replace('"en_de_onnx"', repr(str(onnx_run))).replace("A line.", line), tmp_path)
        assert [found["text"]] == greedy.translate([line])
