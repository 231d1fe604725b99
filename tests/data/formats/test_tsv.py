import pytest

from trimtab.data.formats.tsv import open_tsv
from trimtab.errors import InputError

NAMED = "id\ten\tde\n1\tone\teins\n2\ttwo\tzwei\n"


def write(folder, text, *, source="en", target="de"):
    (folder / "pairs.tsv").write_text(text, encoding="utf-8", newline="")
    return open_tsv(folder / "pairs.tsv", source=source, target=target, cache=folder / "cache")


def all_of(pairs):
    return [pairs.pair(line) for line in range(len(pairs))]


def test_columns_by_name_come_from_the_first_line(tmp_path):
    assert all_of(write(tmp_path, NAMED)) == [("one", "eins"), ("two", "zwei")]
    assert all_of(write(tmp_path, "\ufeff" + NAMED.replace("\n", "\r\n"))) == [
        ("one", "eins"),
        ("two", "zwei"),
    ]


def test_columns_by_number_are_of_a_file_without_names(tmp_path):
    assert all_of(write(tmp_path, "one\teins\ntwo\tzwei", source=1, target=2)) == [
        ("one", "eins"),
        ("two", "zwei"),
    ]


def test_a_number_beside_a_name_is_of_a_file_with_names(tmp_path):
    assert all_of(write(tmp_path, NAMED, source=2, target="de")) == [("one", "eins"), ("two", "zwei")]


def test_an_empty_file_and_one_of_names_alone_hold_no_pairs(tmp_path):
    assert len(write(tmp_path, "")) == 0
    assert len(write(tmp_path, "en\tde\n")) == 0


def test_an_unknown_column_lists_those_there_are_nearest_first(tmp_path):
    with pytest.raises(InputError, match=r"source: .* has no column 'sourc'") as caught:
        write(tmp_path, "target\tsource\tid\n", source="sourc", target="target")
    (problem,) = caught.value.problems
    assert problem.allowed == "source, target, id"
    assert problem.fix == "did you mean source?"


@pytest.mark.parametrize("column", [3, 100])
def test_a_column_number_beyond_the_first_line_is_an_error(tmp_path, column):
    with pytest.raises(InputError, match=f"target: .* has no column {column}") as caught:
        write(tmp_path, "one\teins\n", source=1, target=column)
    assert caught.value.problems[0].allowed == "1 to 2"


@pytest.mark.parametrize(
    ("line", "got"), [("2\ttwo", "2 columns"), ("2\ttwo\tzwei\t", "4 columns"), ("zwei", "1 column")]
)
def test_a_line_with_other_columns_is_named_when_it_is_read(tmp_path, line, got):
    pairs = write(tmp_path, f"{NAMED}{line}\n")
    assert pairs.pair(1) == ("two", "zwei")
    with pytest.raises(InputError, match="line 4 has another number of columns") as caught:
        pairs.pair(2)
    (problem,) = caught.value.problems
    assert (problem.got, problem.allowed) == (got, "3 columns between tabs")
    assert problem.where.endswith("pairs.tsv:4")


def test_lines_outside_are_index_errors(tmp_path):
    pairs = write(tmp_path, NAMED)
    for line in (-1, 2):
        with pytest.raises(IndexError):
            pairs.pair(line)


def test_the_fingerprint_tells_which_columns_are_read(tmp_path):
    prints = {write(tmp_path, NAMED, source=source).fingerprint for source in ("en", "id", 2)}
    assert len(prints) == 2, "en and 2 are the same column of the same file"
    assert write(tmp_path, NAMED, source=2, target=3).fingerprint not in prints


def test_blank_lines_are_pairs_of_nothing_and_keep_the_numbers_of_the_others(tmp_path):
    pairs = write(tmp_path, "\n" + NAMED.replace("2\t", "\n  \n2\t"))
    assert all_of(pairs) == [("one", "eins"), ("", ""), ("", ""), ("two", "zwei")]
    assert list(pairs.several(range(4))) == all_of(pairs)
    assert pairs.place(3).endswith("pairs.tsv:6")
    by_number = write(tmp_path, "\none\teins\n\t\n", source=1, target=2)
    assert all_of(by_number) == [("", ""), ("one", "eins"), ("", "")]


def test_a_missing_column_is_named_with_the_line_that_has_the_names(tmp_path):
    with pytest.raises(InputError, match="has no column 'fr'") as caught:
        write(tmp_path, "\n\n" + NAMED, source="fr")
    assert caught.value.problems[0].where.endswith("pairs.tsv:3")


@pytest.mark.parametrize("sides", [{"source": "en"}, {"target": "en"}])
def test_a_name_that_several_columns_have_is_refused(tmp_path, sides):
    with pytest.raises(InputError, match="has several columns 'en'") as caught:
        write(tmp_path, "en\tde\ten \none\teins\tuno\n", **sides)
    assert caught.value.problems[0].got == "columns 1, 3 of the first line"
    assert len(write(tmp_path, "en\tde\ten\none\teins\tuno\n", source=1, target=2)) == 2
