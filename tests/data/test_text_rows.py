from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.language_run import PAIRS, language_sources
from trimtab.config.data import DataConfig
from trimtab.data.byte_pieces import byte_model
from trimtab.data.exact_text import ExactText
from trimtab.data.formats.passage import Passage
from trimtab.data.global_batches import windows
from trimtab.data.loader import chunks
from trimtab.data.sentencepiece_model import SentencePiece
from trimtab.data.text_rows import PARTS, pair_rows, passage_bytes, rows_of_passages, split

BYTES = ExactText(SentencePiece(byte_model(["<sep>", "<2de>"]), symbols=["<sep>", "<2de>"]))


@given(ids=st.lists(st.integers(4, 99), max_size=60), longest=st.integers(2, 20), given_id=st.booleans())
def test_a_split_loses_no_token_and_counts_each_once(ids, longest, given_id):
    rows = split(ids, longest, given=[3] if given_id else [])
    assert [id for row in rows for id in row.ids[row.prompt :]] == ids
    assert all(len(row.ids) - row.prompt >= 1 and len(row.ids) <= longest for row in rows)
    before = [3 if given_id else None, *ids]
    done = 0
    for number, row in enumerate(rows):
        assert row.prompt == (given_id or number > 0)
        assert list(row.ids[: row.prompt]) == ([before[done]] if row.prompt else [])
        done += len(row.ids) - row.prompt
    assert all(len(row.ids) == longest for row in rows[:-1])


@given(st.lists(st.text(min_size=1), min_size=1, max_size=4), st.integers(2, 9))
def test_a_document_of_passages_ends_with_the_end_symbol_once(texts, longest):
    passages = [
        Passage(text, "".join(texts[:place])[-64:], place + 1 == len(texts))
        for place, text in enumerate(texts)
    ]
    rows = [row for few in rows_of_passages(passages, BYTES, longest) for row in few]
    counted = [id for row in rows for id in row.ids[row.prompt :]]
    assert counted == [*BYTES.ids(["".join(texts)])[0], BYTES.end]
    assert [row.prompt for row in rows] == [0] + [1] * (len(rows) - 1)
    # What is given is the token before, also where the passage before is not at hand.
    for before, row in pairwise(rows):
        assert row.ids[0] == before.ids[-1]


def test_a_pair_is_one_row_whose_source_is_given():
    [row] = pair_rows([(("ab", "c"), ["<2de>"])], tokenizer=BYTES, separator=260)
    assert list(row.ids) == [261, 4 + ord("a"), 4 + ord("b"), 260, 4 + ord("c"), BYTES.end]
    assert row.prompt == 4


def test_a_passage_is_about_four_rows():
    assert passage_bytes(DataConfig.model_validate({"train": [{"text": "a"}], "max_tokens": 100})) == 1600
    config = {"train": [{"text": "a"}], "max_tokens": 100, "tokenizer": {"kind": "bytes"}}
    assert passage_bytes(DataConfig.model_validate(config)) == 400


@pytest.fixture(scope="module")
def feed(tmp_path_factory):
    return language_sources(tmp_path_factory.mktemp("feed"), **{"data.max_tokens": 12})[1].feed


def plain(chunk):
    return [
        (int(chunk.position[n]), int(chunk.line[n]), chunk.target.row(n).tolist(), int(chunk.prompt[n]))
        for n in range(len(chunk.target))
    ]


@settings(max_examples=20, deadline=None)
@given(start=st.integers(0, 500), counts=st.lists(st.integers(1, 30), min_size=1, max_size=3))
def test_a_chunk_is_what_its_positions_are(feed, start, counts):
    whole = plain(feed.chunk(start=start, count=sum(counts)))
    parts = []
    for count in counts:
        parts += plain(feed.chunk(start=start, count=count))
        start += count
    assert parts == whole
    assert [position for position, *_ in whole] == sorted({position for position, *_ in whole})


def test_one_epoch_sees_every_document_once(feed):
    epoch = feed.chunk(start=0, count=feed.mixture.examples_per_epoch)
    texts = {}
    for _, line, ids, prompt in plain(epoch):
        texts.setdefault(line, []).extend(ids[prompt:])
    corpus = feed.corpora[0]
    assert sorted(texts) == list(range(len(corpus)))
    for line, ids in texts.items():
        passage = corpus.passage(line)
        assert feed.tokenizer.decode([ids]) == [passage.text]
        assert ids.count(feed.tokenizer.end) == passage.ends


def stream(feed, position, count, workers=0):
    made = windows(
        chunks(feed, from_position=position, workers=workers),
        from_position=position,
        tokens_per_step=50,
        max_tokens=feed.max_tokens,
        examples_per_epoch=feed.mixture.examples_per_epoch,
    )
    return [next(made) for _ in range(count)]


def same(one, other):
    return (
        one.position == other.position
        and np.array_equal(one.target.values, other.target.values)
        and np.array_equal(one.prompt, other.prompt)
        and np.array_equal(one.line, other.line)
    )


def test_windows_go_on_in_the_middle_of_a_document(feed):
    whole = stream(feed, 0, 40)
    assert any(window.position % PARTS for window in whole)
    for start in (1, 7, 23, 39):
        (again,) = stream(feed, whole[start - 1].position, 1)
        assert same(again, whole[start])
    assert all(window.num_targets <= 50 and not window.source.values.size for window in whole)


@pytest.mark.parametrize("workers", [1, 2])
def test_workers_give_the_same_windows(feed, workers):
    here = stream(feed, 5 * PARTS, 30)
    assert all(same(*each) for each in zip(here, stream(feed, 5 * PARTS, 30, workers=workers), strict=True))


def test_pairs_that_are_empty_or_too_long_are_dropped_with_the_reason(tmp_path):
    (tmp_path / "train.en").write_text("a b\n \n\nc\n" + "long " * 60 + "\n")
    (tmp_path / "train.de").write_text("x y\nz\nu\n\nv\n")
    feed = language_sources(
        tmp_path / "run",
        **PAIRS,
        **{
            "data.train.0.source": "../train.en",
            "data.train.0.target": "../train.de",
            "data.tokenizer": {"kind": "bytes"},
        },
    )[1].feed
    chunk = feed.chunk(start=0, count=5)
    reasons = {(each.line, each.reason) for each in chunk.dropped}
    assert reasons == {(1, "empty_source"), (2, "empty_source"), (3, "empty_target"), (4, "too_long")}
    assert chunk.line.tolist() == [0]
    assert sorted((chunk.dropped_position // PARTS).tolist() + (chunk.position // PARTS).tolist()) == list(
        range(5)
    )
