from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.data.formats.jsonl_passages import open_jsonl_passages
from trimtab.data.formats.passage import Passage
from trimtab.data.formats.passages import Passages, cut_in_passages
from trimtab.data.formats.text_passages import open_text_passages


@dataclass
class Listed:
    """Documents in memory, a line each, cut after every `most` characters."""

    texts: list[str]
    kind: str = "listed"

    @property
    def lines(self):
        return SimpleNamespace(path=Path("listed"), fingerprint="-".join(self.texts))

    def cut(self, most):
        for number, text in enumerate(self.texts):
            for start in range(0, len(text), most):
                yield start, min(start + most, len(text)), number

    def read(self, places, number):
        start, stop, document = places[number].tolist()
        text = self.texts[document]
        return Passage(text[start:stop], text[:start], stop == len(text))

    def line_of(self, place):
        return int(place[2])


@settings(deadline=None)
@given(texts=st.lists(st.text("ab", max_size=9), max_size=6), most=st.integers(1, 5))
def test_passages_are_counted_and_measured_without_reading(texts, most, tmp_path_factory):
    passages = cut_in_passages(
        Listed(texts), most=most, cache=tmp_path_factory.mktemp("cache"), fingerprint="x"
    )
    parts = [text[start : start + most] for text in texts for start in range(0, len(text), most)]
    assert [passages.passage(number).text for number in range(len(passages))] == parts
    assert [passages.pair(number) for number in range(len(passages))] == [("", part) for part in parts]
    assert [passages.num_bytes(number) for number in range(len(passages))] == [len(part) for part in parts]
    assert passages.longer_than(1).tolist() == [n for n, part in enumerate(parts) if len(part) > 1]
    assert passages.num_documents == sum(map(bool, texts))
    if parts:
        assert passages.place(0) == f"listed:{next(n for n, text in enumerate(texts) if text) + 1}"


def test_a_table_is_made_once_for_each_text_size_and_kind(tmp_path, monkeypatch):
    made = []
    cut = Listed.cut
    monkeypatch.setattr(Listed, "cut", lambda self, most: made.append((self.kind, most)) or cut(self, most))
    for _ in range(2):
        for documents, most in (
            (Listed(["abc"]), 2),
            (Listed(["abc"]), 3),
            (Listed(["abd"]), 2),
            (Listed(["abc"], kind="other"), 2),
        ):
            assert len(cut_in_passages(documents, most=most, cache=tmp_path, fingerprint="x")) > 0
    assert len(made) == 4


@pytest.mark.parametrize("spoiled", [b"", b"junk", None])
def test_a_stored_table_that_is_none_is_made_anew(tmp_path, spoiled):
    first = cut_in_passages(Listed(["abc"]), most=2, cache=tmp_path, fingerprint="x")
    (table,) = tmp_path.glob("*.npy")
    if spoiled is None:
        np.save(table, np.zeros((2, 2), np.int64))
    else:
        table.write_bytes(spoiled)
    again = cut_in_passages(Listed(["abc"]), most=2, cache=tmp_path, fingerprint="x")
    assert np.array_equal(first.places, again.places)


def test_text_and_jsonl_of_the_same_documents_have_the_same_passages(tmp_path):
    (tmp_path / "a.txt").write_text("one two\nthree\n\nfour\n")
    (tmp_path / "a.jsonl").write_text('{"text": "one two\\nthree"}\n{"text": "four"}\n')
    text = open_text_passages(tmp_path / "a.txt", most=8, cache=tmp_path)
    jsonl = open_jsonl_passages(tmp_path / "a.jsonl", most=8, cache=tmp_path)
    assert isinstance(text, Passages)
    assert isinstance(jsonl, Passages)
    assert [text.passage(n) for n in range(len(text))] == [jsonl.passage(n) for n in range(len(jsonl))]
    assert text.fingerprint != jsonl.fingerprint
