import hashlib
import io
import os
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.data.lines import open_lines
from trimtab.data.spool import spooled


@given(st.binary(max_size=200))
def test_the_file_holds_what_the_stream_held_under_its_digest(tmp_path_factory, content):
    path = spooled(io.BytesIO(content), cache=tmp_path_factory.mktemp("cache") / "new")
    assert path.read_bytes() == content
    assert path.name == f"stdin-{hashlib.sha256(content).hexdigest()}"


def test_the_same_content_is_one_file_that_lines_are_read_from(tmp_path):
    paths = {spooled(io.BytesIO(b"one\ntwo\n"), cache=tmp_path) for _ in range(2)}
    assert len(paths) == 1
    assert list(open_lines(paths.pop(), cache=tmp_path)) == [b"one", b"two"]


def test_the_same_content_does_not_disturb_whoever_reads_it_already(tmp_path):
    lines = open_lines(spooled(io.BytesIO(b"one\ntwo\n"), cache=tmp_path), cache=tmp_path)
    pickled = pickle.dumps(lines)
    spooled(io.BytesIO(b"one\ntwo\n"), cache=tmp_path)
    assert list(lines) == list(pickle.loads(pickled)) == [b"one", b"two"]


def test_nothing_is_left_of_a_stream_that_breaks(tmp_path):
    class Broken:
        def read(self, size):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        spooled(Broken(), cache=tmp_path)
    assert os.listdir(tmp_path) == []
