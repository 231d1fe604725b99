import hashlib
import itertools
import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trimtab.data.line_index import load_index, write_index

TEXTS = st.lists(st.sampled_from([b"a", b"\n", b"\r", b"bc", b"\x00"]), max_size=40).map(b"".join)


def index_of(folder, text, *, block=3):
    (folder / "text").write_bytes(text)
    with open(folder / "index.npy", "w+b") as file:
        write_index(file, (text[start : start + block] for start in range(0, len(text), block)))
    return load_index(folder / "index.npy", text=folder / "text")


@given(TEXTS, st.integers(1, 7))
def test_the_index_finds_the_lines_that_splitting_finds(text, block):
    with tempfile.TemporaryDirectory() as folder:
        index = index_of(Path(folder), text, block=block)
    expected = text.removesuffix(b"\n").split(b"\n") if text else []
    starts = index.starts.tolist()
    assert [text[start : stop - 1] for start, stop in itertools.pairwise(starts)] == expected
    assert len(index) == len(expected)
    assert index.fingerprint == hashlib.sha256(text).hexdigest()


def test_the_index_is_a_plain_array_that_needs_no_pickle(tmp_path):
    index_of(tmp_path, b"one\ntwo\n")
    words = np.load(tmp_path / "index.npy", allow_pickle=False)
    assert words.dtype == np.uint64
    assert words[:4].tobytes() == hashlib.sha256(b"one\ntwo\n").digest()
    assert words[4:].tolist() == [0, 4, 8]


def test_a_missing_cut_or_foreign_index_is_none(tmp_path):
    index_of(tmp_path, b"one\ntwo\n")
    path, text = tmp_path / "index.npy", tmp_path / "text"
    whole = path.read_bytes()
    for content in (b"", whole[:-8], whole[:20], b"something else", b"\0" * len(whole)):
        path.write_bytes(content)
        assert load_index(path, text=text) is None
    for words in (np.zeros(9, np.int32), np.zeros((2, 8), np.uint64), np.zeros(4, np.uint64)):
        np.save(path, words)
        assert load_index(path, text=text) is None
    path.unlink()
    assert load_index(path, text=text) is None


def test_an_index_of_a_text_of_another_length_is_none(tmp_path):
    index_of(tmp_path, b"one\ntwo\n")
    (tmp_path / "text").write_bytes(b"one\ntwo\nthree\n")
    assert load_index(tmp_path / "index.npy", text=tmp_path / "text") is None
    (tmp_path / "text").unlink()
    assert load_index(tmp_path / "index.npy", text=tmp_path / "text") is None
