"""Weights and their traps: what the library would do silently where it is told less."""

import copy

import ctranslate2
import numpy as np
import pytest
import torch

from tests.export.variants import variant
from trimtab.export.ctranslate2.spec import model_spec
from trimtab.export.ctranslate2.target import CTranslate2, pieces_of, settings
from trimtab.export.gate import BOUND
from trimtab.export.samples import gate_lines
from trimtab.export.translation_gate import compare_translations
from trimtab.inference import load_model


@pytest.fixture(scope="module")
def loaded(trained_run):
    return variant(load_model(f"{trained_run}@last", device="cpu"))


@pytest.fixture(scope="module")
def lines(loaded):
    return gate_lines(loaded, count=10)


def with_changed_spec(model, folder, change=lambda spec: None, **said):
    """What the library makes of the model's specification with something otherwise in it."""
    target = CTranslate2()
    target.write(model, folder)
    spec = model_spec(model.model, num_source_ids=model.tokenizers.source.num_ids)
    spec.register_source_vocabulary(pieces_of(model.tokenizers.source))
    spec.register_target_vocabulary(pieces_of(model.tokenizers.target))
    for key, value in {**settings(model), **said}.items():
        setattr(spec.config, key, value)
    change(spec)
    spec.validate()
    spec.optimize(None)
    for name in ("model.bin", "config.json", "shared_vocabulary.json"):
        (folder / name).unlink()
    spec.save(str(folder))
    return target.as_users_open_it(folder)


@pytest.mark.slow
def test_nothing_otherwise_is_exact(loaded, lines, tmp_path):
    assert compare_translations(loaded, with_changed_spec(loaded, tmp_path), lines).worst_token < BOUND / 5


def test_a_table_of_positions_that_is_not_written_becomes_another_one(loaded, lines, tmp_path):
    """The trap: no error, and scores that are far off."""

    def unset(spec):
        for side in (spec.encoder, spec.decoder):
            side.position_encodings.encodings = "__optional"

    found = compare_translations(loaded, with_changed_spec(loaded, tmp_path, unset), lines)
    assert not found.passed
    assert found.worst_token > 0.1


@pytest.mark.slow
def test_a_decoder_without_positions_has_a_table_of_zeros(loaded, lines, tmp_path):
    model = variant(loaded, decoder_positions="none")
    spec = model_spec(model.model, num_source_ids=model.tokenizers.source.num_ids)
    table = spec.decoder.position_encodings.encodings
    assert table.shape == (64, 32)
    assert not table.any()

    def unset(spec):
        spec.decoder.position_encodings.encodings = "__optional"

    assert not compare_translations(model, with_changed_spec(model, tmp_path, unset), lines).passed


@pytest.mark.slow
def test_the_epsilon_of_the_norms_is_said(loaded, lines, tmp_path):
    """The trap: the library has defaults of its own, which only vectors of little variance show."""
    model = variant(loaded, norm="rms", positions="rotary", tie_embeddings="none")
    with torch.no_grad():
        model.model.embedding.weight *= 1e-3
        model.model.source_embedding.weight *= 1e-3
    worst = []
    for name, epsilon in (("ours", 1e-6), ("another", 1e-5)):
        (tmp_path / name).mkdir()
        opened = with_changed_spec(model, tmp_path / name, layer_norm_epsilon=epsilon)
        worst.append(compare_translations(model, opened, lines).worst_token)
    assert worst[0] < BOUND < worst[1]


@pytest.mark.slow
def test_a_gelu_by_tanh_is_another_one(loaded, lines, tmp_path):
    model = variant(loaded, activation="gelu")

    def approximate(spec):
        kind = np.dtype("int8").type(ctranslate2.specs.Activation.GELUTanh)
        spec.encoder.activation = spec.decoder.activation = kind

    found = compare_translations(model, with_changed_spec(model, tmp_path, approximate), lines)
    assert found.worst_token > 10 * 9.5e-07


@pytest.mark.parametrize("kind", ["float32", "int8", "int8_float16", "bfloat16"])
def test_the_live_model_stays_as_it_was(loaded, tmp_path, kind):
    """The trap: the library scales arrays where they lie, and those that share memory with the model change it."""
    before = copy.deepcopy(loaded.model.state_dict())
    CTranslate2(kind).write(loaded, tmp_path)
    after = loaded.model.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_without_a_copy_int8_would_change_the_model(loaded):
    model = copy.deepcopy(loaded.model)
    spec = model_spec(model, num_source_ids=loaded.tokenizers.source.num_ids)
    shared = model.encoder.blocks[0].feed_forward.up.weight
    spec.encoder.layer[0].ffn.linear_0.weight = shared.detach().numpy()
    before = shared.detach().clone()
    spec.register_source_vocabulary(pieces_of(loaded.tokenizers.source))
    spec.register_target_vocabulary(pieces_of(loaded.tokenizers.target))
    spec.validate()
    spec.optimize("int8")
    assert not torch.equal(before, shared)


@pytest.mark.slow
def test_the_vector_of_padding_need_not_be_zero(loaded, lines, tmp_path):
    """The trap of converters that take it to be: scores differ by 0.16 in silence. Here it is a row like others."""
    pad = loaded.tokenizers.target.pad
    model = variant(loaded)
    with torch.no_grad():
        model.model.embedding.weight[pad] = 1.0
    opened = with_changed_spec(model, tmp_path)
    assert compare_translations(model, opened, lines).worst_token < BOUND / 5

    def without(spec):
        for part in (spec.encoder.embeddings[0], spec.decoder.embeddings, spec.decoder.projection):
            part.weight = part.weight.copy()
            part.weight[pad] = 0

    (tmp_path / "zero").mkdir()
    assert (
        compare_translations(model, with_changed_spec(model, tmp_path / "zero", without), lines).worst_token
        > BOUND
    )


def test_rows_that_stand_for_no_piece_are_left_out(loaded):
    """The trap: a vocabulary of another size than the matrix is an error of the library."""
    model, ids = loaded.model, loaded.tokenizers.target.num_ids
    assert len(model.output_matrix) > ids
    spec = model_spec(model, num_source_ids=ids)
    assert spec.decoder.projection.weight.shape == spec.decoder.embeddings.weight.shape == (ids, 32)
    spec.register_source_vocabulary(pieces_of(loaded.tokenizers.source))
    spec.register_target_vocabulary([*pieces_of(loaded.tokenizers.target), "<one more>"])
    with pytest.raises(ValueError, match="size"):
        spec.validate()


def test_what_is_tied_is_written_once(loaded, tmp_path):
    sizes = {}
    for tie in ("all", "none"):
        (tmp_path / tie).mkdir()
        CTranslate2().write(variant(loaded, steps=0, tie_embeddings=tie), tmp_path / tie)
        sizes[tie] = (tmp_path / tie / "model.bin").stat().st_size
    matrix = loaded.tokenizers.target.num_ids * 32 * 4
    assert sizes["none"] - sizes["all"] == pytest.approx(2 * matrix, rel=0.05)


def test_shared_heads_of_keys_stay_shared(loaded):
    spec = model_spec(variant(loaded, steps=0, kv_heads=1).model, num_source_ids=66)
    assert spec.decoder.layer[0].self_attention.linear[0].weight.shape == ((4 + 2) * 8, 32)
    assert spec.decoder.layer[0].attention.linear[1].weight.shape == (2 * 8, 32)


def test_a_rotary_side_has_no_table(loaded):
    spec = model_spec(variant(loaded, steps=0, positions="rotary").model, num_source_ids=66)
    assert not hasattr(spec.encoder, "position_encodings")
    assert not hasattr(spec.decoder, "position_encodings")
