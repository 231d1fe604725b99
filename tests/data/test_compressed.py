import bz2
import contextlib
import gzip
import io
import lzma

import pytest
import zstandard

from trimtab.data.compressed import compression_of, copied, read_blocks, unpacked
from trimtab.errors import InputError

TEXT = b"".join(b"line %d of a text\n" % number for number in range(60_000))
PACKERS = [
    ("gzip", gzip.compress),
    ("xz", lzma.compress),
    ("zstd", zstandard.ZstdCompressor(write_checksum=True).compress),
]


@pytest.fixture
def on_disk(tmp_path):
    """Puts bytes into a file and opens it."""
    with contextlib.ExitStack() as stack:

        def opened(content):
            (tmp_path / "packed").write_bytes(content)
            return stack.enter_context(open(tmp_path / "packed", "rb"))

        yield opened


@pytest.mark.parametrize(("compression", "pack"), [("plain", bytes), *PACKERS])
def test_blocks_joined_are_the_text(tmp_path, on_disk, compression, pack):
    blocks = list(read_blocks(on_disk(pack(TEXT)), path=tmp_path, compression=compression))
    assert len(blocks) > 1
    assert b"".join(blocks) == TEXT


@pytest.mark.parametrize(("compression", "pack"), PACKERS)
def test_parts_packed_one_after_another_are_one_text(tmp_path, on_disk, compression, pack):
    file = on_disk(pack(b"one\n") + pack(b"two\n"))
    assert b"".join(read_blocks(file, path=tmp_path, compression=compression)) == b"one\ntwo\n"


@pytest.mark.quick("0.3-gzip-compress", "0.3-xz-compress", "0.3-zstd-compress")
@pytest.mark.parametrize(("compression", "pack"), PACKERS)
@pytest.mark.parametrize("share", [0.3, 0.99])
def test_a_file_cut_short_is_named(tmp_path, on_disk, compression, pack, share):
    packed = pack(TEXT)
    file = on_disk(packed[: int(share * len(packed))])
    with pytest.raises(InputError, match=r"train\.gz: the file is cut short") as caught:
        list(read_blocks(file, path=tmp_path / "train.gz", compression=compression))
    assert caught.value.problems[0].got.startswith(f"{int(share * len(packed)):,} bytes, then the end")


@pytest.mark.parametrize(("compression", "pack"), PACKERS)
def test_a_damaged_file_is_named(tmp_path, on_disk, compression, pack):
    packed = bytearray(pack(TEXT))
    packed[len(packed) // 2] ^= 255
    with pytest.raises(InputError, match=r"train\.gz: the file is (damaged|cut short)"):
        list(read_blocks(on_disk(bytes(packed)), path=tmp_path / "train.gz", compression=compression))


def test_a_disk_that_fails_while_reading_is_named(tmp_path):
    class Broken(io.FileIO):
        def read(self, size=-1):
            raise OSError(5, "Input/output error")

    (tmp_path / "train.en").touch()
    with Broken(tmp_path / "train.en") as file, pytest.raises(InputError, match="cannot be read"):
        list(read_blocks(file, path=tmp_path / "train.en", compression="plain"))


def test_the_first_bytes_tell_the_packing_whatever_the_name(tmp_path):
    assert compression_of(tmp_path / "train.en", b"plain text") == "plain"
    assert compression_of(tmp_path / "train.en", b"") == "plain"
    assert compression_of(tmp_path / "train.en", gzip.compress(b"x")) == "gzip"
    assert compression_of(tmp_path / "train.GZ", gzip.compress(b"x")) == "gzip"
    assert compression_of(tmp_path / "train.en", lzma.compress(b"x")) == "xz"
    assert compression_of(tmp_path / "train.en", zstandard.compress(b"x")) == "zstd"


@pytest.mark.parametrize("head", [b"plain text", b"", lzma.compress(b"x")])
def test_a_name_that_promises_what_the_content_is_not_is_an_error(tmp_path, head):
    with pytest.raises(InputError, match="the name says gzip, but the content is different"):
        compression_of(tmp_path / "train.gz", head)


@pytest.mark.parametrize(
    ("head", "name"),
    [(bz2.compress(b"x"), "bzip2"), (b"PK\x03\x04", "zip")],
)
def test_packings_that_are_not_read_are_named(tmp_path, head, name):
    with pytest.raises(InputError, match=f"packed with {name}"):
        compression_of(tmp_path / "train.en", head)


@pytest.mark.parametrize(("compression", "pack"), [("plain", bytes), *PACKERS])
def test_a_packed_file_is_read_line_by_line_like_a_plain_one(tmp_path, on_disk, compression, pack):
    assert list(unpacked(on_disk(pack(TEXT)), path=tmp_path / "train.en")) == TEXT.splitlines(keepends=True)


def test_a_packed_file_that_is_cut_is_named_while_it_is_read(tmp_path, on_disk):
    file = unpacked(on_disk(gzip.compress(TEXT)[:-40]), path=tmp_path / "train.gz")
    with pytest.raises(InputError, match=r"train\.gz: the file is cut short"):
        file.read()


def test_blocks_are_copied_on_the_way(tmp_path):
    with open(tmp_path / "copy", "wb") as copy:
        assert list(copied(iter([b"a", b"bc"]), copy)) == [b"a", b"bc"]
    assert (tmp_path / "copy").read_bytes() == b"abc"
