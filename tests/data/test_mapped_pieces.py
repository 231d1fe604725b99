from pathlib import Path

import pytest

from tests.for_each import for_each
from tests.module_folder import module_folder
from trimtab.data.mapped_pieces import MappedPieces, read_table
from trimtab.errors import InputError


def test_what_the_table_does_not_have_is_unknown(tmp_path):
    folder = module_folder(tmp_path, "marian")
    table = read_table((folder / "vocab.json").read_bytes(), folder / "vocab.json")
    pieces = MappedPieces((folder / "source.spm").read_bytes(), table, unknown=1, name="source.spm")
    row = pieces.ids(["the red ship"])[0]
    assert 1 not in row
    assert pieces.decode_exactly([row], skipped=frozenset()) == ["the red ship"]
    assert 1 in pieces.ids(["\u4e2d"])[0]
    again, given = pieces.__reduce__()
    assert again(*given).ids(["the red ship"]) == [row]


@for_each("content", [b"", b"[]", b"{}", b'{"a": "b"}', b'{"a": 1, "b": 1}', b'{"a": -1}', b"\xff"])
def test_what_is_no_vocabulary_is_refused(content):
    with pytest.raises(InputError, match="not a vocabulary"):
        read_table(content, Path("vocab.json"))
