import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.data.formats.documents import MOST_PROBLEMS, open_documents
from trimtab.data.formats.reversed import ReversedPairs
from trimtab.errors import InputError


def opened(folder, lines):
    path = folder / "documents.jsonl"
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return open_documents(path, source="src", target="tgt", cache=folder / "cache")


def line_of(pairs):
    return json.dumps({"src": [pair[0] for pair in pairs], "tgt": [pair[1] for pair in pairs]})


@given(sizes=st.lists(st.integers(0, 5), min_size=1, max_size=8), count=st.integers(0, 6))
def test_every_pair_has_a_number_and_knows_those_before_it_in_its_document(tmp_path_factory, sizes, count):
    documents = [[(f"s{d}.{i}", f"t{d}.{i}") for i in range(size)] for d, size in enumerate(sizes)]
    corpus = opened(tmp_path_factory.mktemp("docs"), [line_of(each) for each in documents])
    assert len(corpus) == sum(sizes)
    line = 0
    for document in documents:
        for place, pair in enumerate(document):
            assert corpus.pair(line) == pair
            assert corpus.before(line, count) == document[max(0, place - count) : place]
            line += 1


def test_a_second_opening_and_a_copy_in_another_process_read_the_same(tmp_path):
    lines = [line_of([("a", "b"), ("c", "d")])]
    first = opened(tmp_path, lines)
    again = {"source": "src", "target": "tgt", "cache": tmp_path / "cache"}
    second = open_documents(tmp_path / "documents.jsonl", **again)
    copy = pickle.loads(pickle.dumps(first))
    assert first.fingerprint == second.fingerprint == copy.fingerprint
    assert second.before(1, 3) == copy.before(1, 3) == [("a", "b")]


def test_nothing_is_known_of_a_sentence_before_its_document_is_read(tmp_path):
    (tmp_path / "d.jsonl").write_text(json.dumps({"en": ["a" * 1000], "de": ["b"]}) + "\n")
    pairs = open_documents(tmp_path / "d.jsonl", source="en", target="de", cache=tmp_path / "cache")
    assert pairs.num_bytes(0) == 0
    assert pairs.longer_than(10).tolist() == []


def test_read_the_other_way_the_neighbours_are_turned_too(tmp_path):
    corpus = ReversedPairs(opened(tmp_path, [line_of([("a", "b"), ("c", "d")])]))
    assert (corpus.pair(1), corpus.before(1, 2)) == (("d", "c"), [("b", "a")])


def test_ten_thousand_sentences_are_one_document(tmp_path):
    corpus = opened(tmp_path, [line_of([(f"s{i}", f"t{i}") for i in range(10_000)])])
    assert len(corpus) == 10_000
    assert corpus.before(9_999, 2) == [("s9997", "t9997"), ("s9998", "t9998")]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "not valid JSON"),
        ("[1]", "no JSON object"),
        ('{"src": ["a"]}', "no field 'tgt'"),
        ('{"src": ["a"], "tgt": "b"}', "no list of sentences in 'tgt'"),
        ('{"src": ["a"], "tgt": [1]}', "no list of sentences in 'tgt'"),
        ('{"src": ["a", "b"], "tgt": ["c"]}', "different numbers"),
        ('{"src": ["\\ud800"], "tgt": ["c"]}', "half a character"),
    ],
)
def test_a_document_that_is_none_is_named_by_its_line(tmp_path, line, said):
    with pytest.raises(InputError, match=said) as told:
        opened(tmp_path, [line_of([("a", "b")]), line]).refuse_broken()
    assert "line 2" in str(told.value)


def test_ten_of_the_broken_documents_are_named_and_the_others_are_there(tmp_path):
    whole = line_of([("a", "b")])
    corpus = opened(tmp_path, [whole, *["{"] * 12, "", whole])
    assert [corpus.pair(line) for line in range(len(corpus))] == [("a", "b")] * 2
    assert (corpus.broken.tolist(), corpus.empty_documents) == (list(range(1, 13)), [13])
    with pytest.raises(InputError) as told:
        corpus.refuse_broken()
    assert len(told.value.problems) == MOST_PROBLEMS


def test_a_number_is_no_field(tmp_path):
    with pytest.raises(InputError, match="fields with names"):
        open_documents(tmp_path / "x.jsonl", source=1, target="tgt", cache=tmp_path)


def test_a_number_of_any_length_in_another_field_is_no_matter(tmp_path):
    corpus = opened(tmp_path, ['{"id": ' + "9" * 10_000 + ', "src": ["a"], "tgt": ["b"]}'])
    assert corpus.pair(0) == ("a", "b")


def test_blank_lines_and_empty_lists_are_documents_of_nothing_and_counted(tmp_path):
    corpus = opened(tmp_path, [line_of([("a", "b")]), "", " ", line_of([]), line_of([("c", "d")])])
    assert [corpus.pair(line) for line in range(len(corpus))] == [("a", "b"), ("c", "d")]
    assert corpus.place(1).endswith("documents.jsonl:5")
    assert corpus.empty_documents == [1, 2, 3]


def test_the_lists_may_be_inside_another_field(tmp_path):
    path = tmp_path / "documents.jsonl"
    path.write_text('{"doc": {"src": ["a", "b"]}, "tgt": ["c", "d"]}\n')
    corpus = open_documents(path, source="doc.src", target="tgt", cache=tmp_path / "cache")
    assert [corpus.pair(line) for line in range(2)] == [("a", "c"), ("b", "d")]
    with pytest.raises(InputError, match=r"has no field 'doc.trg'") as caught:
        open_documents(path, source="doc.src", target="doc.trg", cache=tmp_path / "cache").refuse_broken()
    assert caught.value.problems[0].got == "doc.src, tgt"
