import pickle

import pytest

from trimtab.data.formats.aligned import open_aligned
from trimtab.errors import InputError


def write(folder, source, target):
    (folder / "train.en").write_bytes(source)
    (folder / "train.de").write_bytes(target)
    return open_aligned(folder / "train.en", folder / "train.de", cache=folder / "cache")


def test_lines_of_the_same_number_are_pairs(tmp_path):
    pairs = write(tmp_path, b"one\r\ntwo\n\n", "eins\nzwölf\n\n".encode())
    assert [pairs.pair(line) for line in range(len(pairs))] == [("one", "eins"), ("two", "zwölf"), ("", "")]


def test_a_missing_last_newline_does_not_matter(tmp_path):
    assert len(write(tmp_path, b"one\ntwo", b"eins\nzwei\n")) == 2


def test_unequal_files_are_an_error_that_gives_both_counts_and_both_files(tmp_path):
    with pytest.raises(InputError, match="different numbers of lines") as caught:
        write(tmp_path, b"one\ntwo\n", b"eins\n" * 1234)
    (problem,) = caught.value.problems
    assert problem.what.startswith(f"{tmp_path / 'train.en'} and {tmp_path / 'train.de'} have different")
    assert problem.got == "2 lines and 1,234 lines"
    assert "first line where they drift apart" in problem.fix


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-16"])
def test_a_side_in_another_encoding_is_told_before_its_number_of_lines(tmp_path, encoding, side):
    sides = [b"the small ship\nthe large ship\n"] * 2
    sides[side] = "das kleine Schiff\ndas große Schiff\n".encode(encoding)
    assert sides[side].count(b"\n") == 2, "and what follows the last one is a line of its own"
    with pytest.raises(InputError, match=r"UTF-16|not UTF-8"):
        write(tmp_path, *sides).pair(0)


def test_the_fingerprint_is_of_both_sides_in_their_order(tmp_path):
    there, back = tmp_path / "there", tmp_path / "back"
    there.mkdir()
    back.mkdir()
    one = write(there, b"one\n", b"eins\n").fingerprint
    assert one != write(back, b"eins\n", b"one\n").fingerprint
    assert one == write(back, b"one\n", b"eins\n").fingerprint
    assert one != write(back, b"one\n", b"zwei\n").fingerprint


def test_pairs_can_be_handed_to_workers(tmp_path):
    pairs = pickle.loads(pickle.dumps(write(tmp_path, b"one\n", b"eins\n")))
    assert pairs.pair(0) == ("one", "eins")
