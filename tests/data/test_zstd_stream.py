import io
import random
import sys

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from trimtab.data.zstd_stream import ZstdStream, zstd_library
from trimtab.errors import InputError

TEXT = b"".join(b"line %d of a text\n" % number for number in range(20_000))
SKIPPABLE = b"\x50\x2a\x4d\x18\x04\x00\x00\x00abcd"
"""A frame that holds no text; `pzstd` writes one before each of its own. RFC 8878, section 3.1.2."""


def read(packed, size=1 << 20):
    stream = ZstdStream(io.BytesIO(packed))
    parts = []
    while part := stream.read(size):
        parts.append(part)
    return b"".join(parts)


@given(st.lists(st.binary(max_size=5000), max_size=5), st.sampled_from([1, 100, 1 << 20]))
def test_frames_one_after_another_are_one_text(parts, size):
    assert read(b"".join(map(zstandard.compress, parts)), size) == b"".join(parts)


def test_frames_without_text_are_passed_over():
    assert (
        read(SKIPPABLE + zstandard.compress(b"one\n") + SKIPPABLE + zstandard.compress(b"two\n"))
        == b"one\ntwo\n"
    )


def test_what_the_stream_of_the_library_writes_is_read():
    packed = io.BytesIO()
    with zstandard.ZstdCompressor(level=19).stream_writer(packed, closefd=False) as writer:
        for start in range(0, len(TEXT), 1000):
            writer.write(TEXT[start : start + 1000])
            writer.flush()
    assert read(packed.getvalue()) == TEXT


@given(st.integers(min_value=1, max_value=len(zstandard.compress(TEXT)) - 1))
def test_every_cut_inside_a_frame_is_noticed(stop):
    with pytest.raises(EOFError):
        read(zstandard.compress(TEXT)[:stop])


def test_bytes_after_the_last_frame_are_damage():
    with pytest.raises(zstandard.ZstdError):
        read(zstandard.compress(TEXT) + b"no frame at all")


def test_a_read_gives_hardly_more_than_it_was_asked_for():
    noise = random.Random(1).randbytes(1_000_000)
    stream = ZstdStream(io.BytesIO(zstandard.compress(noise + bytes(1_000_000))))
    assert 100 <= len(stream.read(100)) <= 200_000


def test_a_missing_library_is_said_with_the_command_that_brings_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(InputError, match=r"trimtab\[zstd\]"):
        zstd_library()
