import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.data.fake_feed import END, LONGEST, TAG, FakePipeline, fake_feed
from tests.data.small_text import sentences, small_tokenizer
from trimtab.config.corpora import TrainCorpus
from trimtab.config.transforms import LengthFilter, NormalizeTransform
from trimtab.data.chunk import Feed, encode_chunk
from trimtab.data.corpus import open_corpora
from trimtab.data.mixture import Mixture
from trimtab.data.transforms.apply import Pipeline, build_transforms
from trimtab.errors import InputError, RunFailed


def plain(chunk):
    """A chunk as lists: one entry per kept example, one per dropped one."""
    kept = [
        (
            int(chunk.position[i]),
            int(chunk.corpus[i]),
            int(chunk.line[i]),
            chunk.source.row(i).tolist(),
            chunk.target.row(i).tolist(),
        )
        for i in range(len(chunk.target))
    ]
    dropped = [
        (int(position), example.corpus, example.line, example.reason)
        for position, example in zip(chunk.dropped_position, chunk.dropped, strict=True)
    ]
    return kept, dropped


def slowly(feed, position):
    """The plain way to say what stands at one position."""
    place = feed.mixture.at(np.array([position]))
    corpus, line = int(place.corpus[0]), int(place.line[0])
    pair = feed.pipeline.apply(*feed.corpora[corpus].pair(line), None)
    if not isinstance(pair, tuple):
        return [], [(position, corpus, line, pair.reason)]
    source = [TAG] * len(feed.corpora[corpus].tags) + [int(word) for word in pair[0].split()] + [END]
    target = [int(word) for word in pair[1].split()] + [END]
    if max(len(source), len(target)) > feed.max_tokens:
        return [], [(position, corpus, line, "too_long")]
    return [(position, corpus, line, source, target)], []


@pytest.mark.slow
@given(
    start=st.integers(0, 10**6),
    count=st.integers(1, 60),
    max_tokens=st.integers(2, LONGEST),
    every=st.integers(1, 9),
)
def test_a_chunk_is_what_its_positions_are_one_by_one(start, count, max_tokens, every):
    feed = fake_feed(max_tokens=max_tokens, pipeline=FakePipeline(every=every))
    chunk = encode_chunk(feed, start=start, count=count)
    one_by_one = [slowly(feed, position) for position in range(start, start + count)]
    assert plain(chunk) == (
        [kept for part, _ in one_by_one for kept in part],
        [gone for _, part in one_by_one for gone in part],
    )


def test_chance_follows_the_turn_the_corpus_and_the_line_not_where_a_chunk_begins():
    feed = fake_feed(pipeline=FakePipeline(needs_random=True))
    kept, dropped = plain(encode_chunk(feed, start=0, count=500))
    assert 40 < len(dropped) < 170
    assert {reason for *_, reason in dropped} == {"chance"}
    first, second = (
        plain(encode_chunk(feed, start=start, count=count)) for start, count in ((0, 123), (123, 377))
    )
    assert (first[0] + second[0], first[1] + second[1]) == (kept, dropped)


def test_another_turn_or_seed_is_another_chance():
    def dropped_lines(turn, seed):
        feed = fake_feed(lengths=(200,), weights=(1.0,), seed=seed, pipeline=FakePipeline(needs_random=True))
        return {example.line for example in encode_chunk(feed, start=200 * turn, count=200).dropped}

    assert len({frozenset(dropped_lines(turn, seed)) for turn in (0, 1) for seed in (1, 2)}) == 4


def test_a_line_that_cannot_be_read_is_the_error_that_the_corpus_makes_of_it():
    with pytest.raises(InputError, match=r"a0\.en: not UTF-8") as caught:
        encode_chunk(fake_feed(bad_line=16), start=0, count=100)
    assert caught.value.problems[0].where == "a0.en:17"


class FailingPipeline:
    needs_random = False

    def of(self, corpus):
        return self

    def apply(self, source, target, rng, line=None):
        if source.startswith("26 ") or source == "26":
            raise ZeroDivisionError("division by zero")
        return source, target


def test_a_transform_that_fails_is_told_with_corpus_and_line():
    with pytest.raises(RunFailed, match=r"data\.transforms: (a0|b1), line 17 cannot") as caught:
        encode_chunk(fake_feed(pipeline=FailingPipeline()), start=0, count=100)
    assert "ZeroDivisionError: division by zero" in str(caught.value)


@pytest.mark.parametrize(("max_tokens", "most"), [(24, 262_144), (4096, 1_048_576)])
def test_a_line_of_too_many_bytes_is_dropped_unread(max_tokens, most, monkeypatch):
    feed = fake_feed(max_tokens=max_tokens, bad_line=16)
    assert feed.most_bytes == most
    monkeypatch.setattr(type(feed.corpora[0]), "num_bytes", lambda corpus, line: most + (line == 16))
    chunk = encode_chunk(feed, start=0, count=60)
    assert {(example.line, example.reason) for example in chunk.dropped} == {(16, "too_long")}
    assert len(chunk.target) + len(chunk.dropped) == 60


def test_a_chunk_of_nothing_but_dropped_examples_is_empty_and_says_why():
    chunk = encode_chunk(fake_feed(pipeline=FakePipeline(every=1)), start=0, count=40)
    assert len(chunk.source) == len(chunk.target) == 0
    assert [example.reason for example in chunk.dropped] == ["multiple"] * 40


def test_lines_of_which_the_tokenizer_sees_nothing_are_empty_whatever_tags_they_have(tmp_path):
    unseen = "\u200b\u200c\ufeff"
    pairs = [("ship", "Schiff"), (unseen, "Boot"), ("boat", unseen), (unseen, unseen), ("wind", "Wind")]
    for side, lines in zip(("en", "de"), zip(*pairs, strict=True), strict=True):
        (tmp_path / f"a.{side}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    for tags in ((), ("<ui>",)):
        corpora = open_corpora(
            [TrainCorpus(source="a.en", target="a.de", tags=tags)], root=tmp_path, cache=tmp_path
        )
        mixture = Mixture.of(lengths=[5], weights=[1.0], seed=1)
        chunk = encode_chunk(Feed(corpora, Pipeline(), small_tokenizer(), mixture, 30), start=0, count=5)
        assert sorted(chunk.line.tolist()) == [0, 4]
        assert {example.line: example.reason for example in chunk.dropped} == {
            1: "empty_source",
            2: "empty_target",
            3: "empty_source",
        }


def test_real_corpora_transforms_and_tokenizer_fit_together(tmp_path):
    for name, count in (("one", 40), ("two", 25)):
        lines = sentences(count, seed=count)
        (tmp_path / f"{name}.en").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        (tmp_path / f"{name}.de").write_text(
            "".join(f"  {line}  {line}\n" for line in lines), encoding="utf-8"
        )
    configs = [
        TrainCorpus(source=f"{name}.en", target=f"{name}.de", tags=tags)
        for name, tags in (("one", ()), ("two", ("<ui>",)))
    ]
    corpora = open_corpora(configs, root=tmp_path, cache=tmp_path)
    tokenizer = small_tokenizer()
    pipeline = build_transforms([NormalizeTransform(), LengthFilter(max=20)])
    feed = Feed(corpora, pipeline, tokenizer, Mixture.of(lengths=[40, 25], weights=[1.0, 1.0], seed=1), 30)
    chunk = encode_chunk(feed, start=0, count=65)
    assert {example.reason for example in chunk.dropped} == {"length", "too_long"}
    assert len(chunk.target) + len(chunk.dropped) == 65
    texts = tokenizer.decode([chunk.target.row(i).tolist() for i in range(len(chunk.target))])
    for number, text in enumerate(texts):
        corpus, line = int(chunk.corpus[number]), int(chunk.line[number])
        source, target = corpora[corpus].pair(line)
        assert text == " ".join(target.split())
        assert (
            chunk.source.row(number).tolist() == tokenizer.encode_with_tags([source], corpora[corpus].tags)[0]
        )
        assert (tokenizer.id("<ui>") in chunk.source.row(number)) == (corpus == 1)
    longer = encode_chunk(dataclasses.replace(feed, max_tokens=10_000), start=0, count=65)
    assert {example.reason for example in longer.dropped} == {"length"}
