import json
import shutil
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.errors import InputError
from trimtab.export.ctranslate2.files import (
    check_files,
    check_finite,
    read_tensors,
    read_vocabularies,
    sizes_of,
)
from trimtab.export.ctranslate2.target import CTranslate2, pieces_of
from trimtab.inference import load_model


@pytest.fixture(scope="module")
def model(trained_run):
    return load_model(f"{trained_run}@last", device="cpu")


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("ct2")
    CTranslate2().write(model, folder)
    return folder


def test_the_table_has_every_tensor_where_it_lies(folder, model):
    tensors = read_tensors(folder / "model.bin")
    content = (folder / "model.bin").read_bytes()
    each = tensors["encoder/layer_0/ffn/linear_1/weight"]
    found = np.frombuffer(content[each.start : each.start + each.num_bytes], np.float32).reshape(each.shape)
    own = model.model.encoder.blocks[0].feed_forward.down.weight.detach().numpy()
    assert np.array_equal(found, own)
    assert tensors["decoder/projection/weight"] == tensors["decoder/embeddings/weight"], "tied"


def test_sizes_are_those_of_the_model(folder, model):
    assert sizes_of(read_tensors(folder / "model.bin")) == {
        "source_ids": model.tokenizer.num_ids,
        "target_ids": model.tokenizer.num_ids,
        "dim": 32,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "positions": model.model.max_positions,
    }


def test_settings_and_vocabularies_are_those_that_were_written(folder, model):
    assert check_files(folder, {})["layer_norm_epsilon"] == 1e-5
    source, target = read_vocabularies(folder)
    assert source is target
    assert source == pieces_of(model.tokenizer)


@given(share=st.floats(0, 0.999))
def test_a_file_that_is_cut_anywhere_is_wrong_input(folder, tmp_path_factory, share):
    content = (folder / "model.bin").read_bytes()
    path = tmp_path_factory.mktemp("cut") / "model.bin"
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(InputError, match="not the weights of this export"):
        read_tensors(path)


@given(content=st.binary(max_size=200), known=st.booleans())
def test_any_bytes_are_wrong_input_and_no_more(tmp_path_factory, content, known):
    path = tmp_path_factory.mktemp("any") / "model.bin"
    start = struct.pack("<IH16sI", 6, 16, b"TransformerSpec\0", 7) if known else b""
    path.write_bytes(start + content)
    empty = known and content[:8] == bytes(8) and len(content) == 8
    if not empty:
        with pytest.raises(InputError, match="not the weights of this export"):
            read_tensors(path)


def test_a_byte_behind_the_end_is_wrong_input(folder, tmp_path):
    path = tmp_path / "model.bin"
    path.write_bytes((folder / "model.bin").read_bytes() + b"\0")
    with pytest.raises(InputError, match="1 bytes after its end"):
        read_tensors(path)


@pytest.mark.parametrize("kind", ["float32", "float16", "bfloat16", "int8"])
def test_a_weight_that_is_no_number_is_wrong_input(model, tmp_path, kind):
    CTranslate2(kind).write(model, tmp_path)
    path = tmp_path / "model.bin"
    tensors = read_tensors(path)
    check_finite(path, tensors)
    place = tensors["encoder/layer_norm/gamma"]
    content = bytearray(path.read_bytes())
    number = {"float16": b"\x00\x7e", "bfloat16": b"\xc0\x7f"}.get(kind, b"\x00\x00\xc0\x7f")
    content[place.start : place.start + len(number)] = number
    path.write_bytes(content)
    with pytest.raises(InputError, match="not finite in encoder/layer_norm/gamma"):
        check_finite(path, tensors)


@pytest.mark.parametrize(
    "change",
    [
        {"eos_token": 5},
        {"add_source_eos": False},
        {"layer_norm_epsilon": "small"},
        {"layer_norm_epsilon": 0.0},
        {"multi_query_attention": True},
        {"something": 1},
        {"decoder_start_token": None},
    ],
)
def test_settings_of_another_kind_are_wrong_input(folder, tmp_path, change):
    copy = shutil.copytree(folder, tmp_path / "copy")
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps({**config, **change}))
    with pytest.raises(InputError, match="not the settings of an export"):
        check_files(copy, {})


@pytest.mark.parametrize("content", ["{", "{}", "[1, 2]", '["a", "a"]', "[" * 100_000])
def test_a_vocabulary_that_is_none_is_wrong_input(folder, tmp_path, content):
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / "shared_vocabulary.json").write_text(content)
    with pytest.raises(InputError, match="not a vocabulary of an export"):
        read_vocabularies(copy)


def test_two_vocabularies_are_read_apart(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / "shared_vocabulary.json").unlink()
    for side, pieces in (("source", ["a", "b"]), ("target", ["c"])):
        (copy / f"{side}_vocabulary.json").write_text(json.dumps(pieces))
    assert read_vocabularies(copy) == (["a", "b"], ["c"])
