import os
from pathlib import Path

import pytest
import safetensors.torch
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors import SafetensorError

from tests.checkpoint.small_run import assert_equal
from trimtab.checkpoint.tensor_file import (
    DTYPES,
    describe,
    file_content,
    file_size,
    read_description,
    read_tensors,
    snapshot,
)

shapes = st.lists(st.integers(0, 3), max_size=3)
names = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


@st.composite
def tensor_sets(draw: st.DrawFn) -> dict[str, torch.Tensor]:
    tensors = {}
    for name in draw(st.lists(names, max_size=5, unique=True)):
        dtype = draw(st.sampled_from([*DTYPES]))
        shape = draw(shapes)
        tensors[name] = torch.arange(1, 1 + torch.Size(shape).numel()).reshape(shape).to(dtype)
    return tensors


def written(tensors: dict[str, torch.Tensor]) -> bytes:
    return b"".join(bytes(piece) for piece in file_content(tensors))


@given(tensor_sets())
def test_the_bytes_are_those_of_the_safetensors_library(tensors: dict[str, torch.Tensor]):
    content = written(snapshot(tensors))
    assert content == safetensors.torch.save(tensors, {"format": "pt"})
    assert file_size(tensors) == len(content)


@given(tensor_sets(), st.randoms(use_true_random=False))
def test_the_order_in_which_tensors_come_does_not_matter(tensors: dict[str, torch.Tensor], dice):
    shuffled = dice.sample(sorted(tensors), len(tensors))
    assert written({name: tensors[name] for name in shuffled}) == written(tensors)


def test_what_is_written_is_read_back(tmp_path: Path):
    tensors = {"b": torch.randn(3, 2).to(torch.bfloat16), "a": torch.tensor(7), "none": torch.zeros(0, 4)}
    (tmp_path / "t").write_bytes(written(tensors))
    read = read_tensors(tmp_path / "t")
    assert_equal(read, tensors)
    assert describe(read) == {"a": ("I64", ()), "b": ("BF16", (3, 2)), "none": ("F32", (0, 4))}


def test_tensors_that_were_read_do_not_depend_on_the_file(tmp_path: Path):
    tensors = {"a": torch.randn(5000)}
    path = tmp_path / "t"
    path.write_bytes(written(tensors))
    read = read_tensors(path)
    path.write_bytes(b"")
    assert_equal(read, tensors)


def test_no_tensors_at_all_are_a_file_too(tmp_path: Path):
    (tmp_path / "t").write_bytes(written({}))
    assert read_tensors(tmp_path / "t") == {}


def test_a_snapshot_is_contiguous_and_does_not_follow_its_original():
    original = torch.arange(6.0, requires_grad=True)
    view = original.reshape(2, 3).T
    copy = snapshot({"a": view})["a"]
    assert copy.is_contiguous()
    assert not copy.requires_grad
    with torch.no_grad():
        original.zero_()
    assert copy.tolist() == [[0, 3], [1, 4], [2, 5]]


def test_parts_of_one_buffer_may_be_saved_unless_they_overlap():
    buffer = torch.arange(10)
    assert snapshot({"a": buffer[:5], "b": buffer[5:], "none": buffer[2:2]})["b"].tolist() == [5, 6, 7, 8, 9]
    with pytest.raises(AssertionError, match="a and b share memory"):
        snapshot({"a": buffer[:6], "b": buffer[5:]})
    with pytest.raises(AssertionError, match="share memory"):
        snapshot({"a": buffer, "b": buffer[3:4]})


def test_an_element_type_that_the_format_lacks_is_a_fault_of_the_caller():
    with pytest.raises(AssertionError, match="complex64"):
        snapshot({"a": torch.zeros(1, dtype=torch.complex64)})


@pytest.mark.parametrize(
    "content",
    [
        b"",
        (10**8 + 1).to_bytes(8, "little") + b"{" + b" " * 1000,
        (2**63).to_bytes(8, "little"),
        (8).to_bytes(8, "little") + b"{}      junk",
        b"\x80\x04cposix\nsystem\n.",
    ],
)
def test_a_file_that_is_not_well_formed_is_refused(tmp_path: Path, content: bytes):
    (tmp_path / "t").write_bytes(content)
    with pytest.raises(SafetensorError):
        read_tensors(tmp_path / "t")


@pytest.mark.timeout(30)
@pytest.mark.parametrize("read", [read_tensors, read_description])
def test_a_device_is_refused_and_a_pipe_is_not_waited_for(tmp_path: Path, read):
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "pipe", Path(os.devnull)):
        with pytest.raises(SafetensorError, match="no plain file"):
            read(place)
