import pickle

import numpy as np
import pytest

from tests.small_run import small_pairs
from trimtab.config.source_factors import CaseFactor, FileFactor
from trimtab.config.tokenizer import SentencePieceTokenizer
from trimtab.data.factored_pieces import (
    MOST_VALUES,
    Factor,
    factored,
    load_factors,
    ordered_files,
    pieces_alone,
    plan_factors,
    store_factors,
)
from trimtab.data.tokenizer import train_tokenizer
from trimtab.errors import InputError
from trimtab.types import Ragged


@pytest.fixture(scope="module")
def pieces(tmp_path_factory):
    config = SentencePieceTokenizer(vocabulary_size=60, byte_fallback=False, character_coverage=1.0)
    lines = [side for pair in small_pairs(100) for side in pair]
    return train_tokenizer(config, lines=lines, symbols=("<ui>",), out=tmp_path_factory.mktemp("pieces"))


@pytest.fixture(scope="module")
def both(pieces):
    configs = (CaseFactor(), FileFactor(name="pos"))
    return factored(pieces, plan_factors(configs, ["the|D ship|N", "small|A ship|N"]))


def by_hand(pieces, words):
    """The slow twin: each word split by itself, its values looked up one by one."""
    rows = []
    for word, case, value in words:
        number = ("none", "lower", "title", "upper", "mixed").index(case)
        known = ("", "unknown", "N", "A", "D")
        number += 5 * (known.index(value) if value in known else 1)
        rows += [id + pieces.num_ids * number for id in pieces.encode([word.lower()])[0][:-1]]
    return [*rows, pieces.end]


def test_each_piece_carries_the_values_of_its_word(pieces, both):
    line = "The|D SHIP|N turns|V water|N"
    words = [("The", "title", "D"), ("SHIP", "upper", "N"), ("turns", "lower", "V"), ("water", "lower", "N")]
    (row,) = both.encode([line])
    assert row == by_hand(pieces, words)
    assert both.decode([row]) == ["the ship turns water"]
    assert both.values(row[0]) == ("title", "D")
    assert both.values(row[-2]) == ("lower", "N")
    assert [both.values(id) for id in row if both.piece(id) == "</s>"] == [("none", "")]


def test_tags_and_empty_lines_are_as_without_factors(pieces, both):
    assert both.encode([""]) == pieces.encode([""])
    assert both.encode_with_tags(["ship|N"], ["<ui>"])[0][0] == pieces.id("<ui>")


def test_a_word_that_makes_or_loses_a_space_is_split_by_itself(pieces, both):
    # nmt_nfkc drops what has no width, and makes a space of others.
    for line, kept in (
        ("the|D \u200b|N ship|N", ["D", "N"]),
        ("the\u200bship|D red|A", None),
        ("\u00b4a|X ship|N", None),
    ):
        (row,) = both.encode([line])
        begins = [both.values(id)[1] for id in row[:-1] if both.piece(id).startswith("▁")]
        assert kept is None or begins == kept
        assert both.values(row[-1]) == ("none", "")
        assert begins[-1] == line.rpartition("|")[2]


def test_a_split_by_chance_carries_the_same_values(pieces, both):
    def letters(lines):
        ids = {piece: pieces.id(piece) for piece in ("▁", "s", "h", "i", "p")}
        return [[*(ids[each] for each in "▁" + line.replace(" ", "▁")), pieces.end] for line in lines]

    (row,) = both.encode_by(letters, ["Ship|N hip|A"])
    assert [both.values(id) for id in row] == [("title", "N")] * 5 + [("lower", "A")] * 4 + [("none", "")]


def test_it_is_stored_and_handed_to_workers(tmp_path, pieces, both):
    assert load_factors(tmp_path) == ()
    store_factors(both.factors, tmp_path)
    again = factored(pieces, load_factors(tmp_path))
    copied = pickle.loads(pickle.dumps(both))  # as a worker gets it
    lines = ["the|D ship|N"]
    assert again.encode(lines) == copied.encode(lines) == both.encode(lines)
    assert again.fingerprint == copied.fingerprint == both.fingerprint != pieces.fingerprint
    (tmp_path / "source_factors.json").write_text('[{"name": 1}]')
    with pytest.raises(InputError, match="not the file that trimtab writes"):
        load_factors(tmp_path)


def test_pieces_come_out_of_ids(pieces, both):
    rows = Ragged.of(both.encode(["the|D ship|N", "water|Q"]))
    alone = pieces_alone(rows, both.num_ids)
    assert [alone.row(number).tolist() for number in range(2)] == pieces.encode(["the ship", "water"])
    assert np.array_equal(rows.offsets, alone.offsets)


def test_too_many_values_or_combinations_are_refused(pieces):
    with pytest.raises(InputError, match="too many different values"):
        plan_factors((FileFactor(name="word"),), (f"a|{number}" for number in range(MOST_VALUES + 1)))
    many = [Factor(name, "file", tuple(map(str, range(7000))), "sum", None) for name in "ab"]
    with pytest.raises(InputError, match="too many combinations"):
        factored(pieces, many)


def test_files_are_those_of_the_model_in_its_order():
    factors = [Factor(name, "file", ("", "unknown"), "sum", None) for name in ("b", "a")]
    assert [*ordered_files({"a": "x", "b": "y"}, factors)] == ["b", "a"]
    for wrong in ({"a": "x"}, {"a": "x", "b": "y", "c": "z"}):
        with pytest.raises(InputError, match="not the source factors of this model") as caught:
            ordered_files(wrong, factors)
        assert "--factors b=FILE --factors a=FILE" in str(caught.value)
