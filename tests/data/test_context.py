"""Rows with context against rows put together by hand from the texts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.document_run import CONTEXT, document_recipe, write_documents
from tests.small_run import small_pairs
from trimtab.config.load import load_recipe
from trimtab.config.paths import resolve_paths
from trimtab.data.chunk import encode_chunk
from trimtab.data.context import fitting, joined
from trimtab.data.order import random_stream
from trimtab.progress import Silent
from trimtab.tasks.task_of import open_datasets


def sources_of(folder, context, **changes):
    recipe = resolve_paths(load_recipe(document_recipe(folder, **{"data.transforms": [context], **changes})))
    return open_datasets(recipe, tokenizer_folder=folder / "tokenizer", progress=Silent())


def by_hand(sources, corpus, line, count, *, sides, max_tokens):
    """Source, target and context of the target, as a person would put them together."""
    tokenizer = sources.tokenizer
    separator = tokenizer.id("<sep>")
    spelled = [tokenizer.encode(list(pair)) for pair in corpus.before(line, count)]
    source, target = tokenizer.encode(list(corpus.pair(line)))
    for kept in range(len(spelled) + 1):
        left, right = [], []
        for one, other in spelled[kept:]:
            left += [*one[:-1], separator]
            right += ([*other[:-1], separator]) if sides == "both" else []
        if len(left + source) <= max_tokens and len(right + target) <= max_tokens:
            return left + source, right + target, len(right)
    raise AssertionError("the sentence alone is too long")


@pytest.mark.quick("True-32-both", "False-14-source")
@pytest.mark.parametrize("sides", ["both", "source"])
@pytest.mark.parametrize(("vary", "capacity"), [(True, 32), (False, 32), (False, 14)])
def test_rows_are_those_put_together_by_hand(tmp_path, sides, vary, capacity):
    sources = sources_of(tmp_path, {**CONTEXT, "sides": sides, "vary": vary}, **{"data.max_tokens": capacity})
    chunk = encode_chunk(sources.feed, start=0, count=150)
    turns = sources.feed.mixture.at(chunk.position).turn
    with_context = 0
    for number, line in enumerate(chunk.line.tolist()):
        count = 2
        if vary:
            count = int(random_stream(sources.feed.mixture.seed, int(turns[number]), 0, line, 2).integers(3))
        source, target, prompt = by_hand(
            sources, sources.corpora[0], line, count, sides=sides, max_tokens=capacity
        )
        assert chunk.source.row(number).tolist() == source
        assert chunk.target.row(number).tolist() == target
        assert chunk.prompt[number] == prompt
        with_context += len(source) > len(sources.tokenizer.encode([sources.corpora[0].pair(line)[0]])[0])
    assert with_context > (50 if capacity == 32 else 20)


def test_where_all_is_learned_the_same_rows_count_whole(tmp_path):
    current = encode_chunk(sources_of(tmp_path / "a", CONTEXT).feed, start=0, count=80)
    whole = encode_chunk(sources_of(tmp_path / "b", {**CONTEXT, "loss": "all"}).feed, start=0, count=80)
    assert whole.target.values.tolist() == current.target.values.tolist()
    assert current.prompt.any()
    assert not whole.prompt.any()
    assert whole.counted[-1] == whole.target.offsets[-1] > current.counted[-1]


def kept_before(pairs, *, drops, border):
    """The pairs that are read along, by the rule as it is told: those that are dropped are left out, or end it."""
    if border:
        ends = [place for place, pair in enumerate(pairs) if drops(pair)]
        return pairs[ends[-1] + 1 if ends else 0 :]
    return [pair for pair in pairs if not drops(pair)]


LONGEST_WORDS = {"kind": "length", "max": 4}


@pytest.mark.parametrize(
    ("loss", "drops"),
    [
        ("all", lambda pair: any(not 1 <= len(side.split()) <= 4 for side in pair)),
        ("current", lambda pair: not all(pair)),
    ],
)
def test_what_is_dropped_is_left_out_and_where_all_is_learned_it_is_a_border(tmp_path, loss, drops):
    documents = [
        [("the ship", "das schiff"), *pairs[:2], ("", ""), ("old", "alte"), *pairs[2:]]
        for pairs in (small_pairs(6, seed=seed) for seed in range(12))
    ]
    context = {**CONTEXT, "sentences": 8, "vary": False, "loss": loss}
    document_recipe(tmp_path)
    write_documents(tmp_path / "found.jsonl", documents)
    sources = sources_of(
        tmp_path,
        context,
        **{
            "data.transforms": [LONGEST_WORDS, context],
            "data.train": [{"documents": "found.jsonl", "source": "src", "target": "tgt"}],
            "data.max_tokens": 256,
            "step.tokens_per_micro_batch": 256,
        },
    )
    chunk, corpus = encode_chunk(sources.feed, start=0, count=110), sources.corpora[0]
    tokenizer, separator = sources.tokenizer, sources.tokenizer.id("<sep>")
    cut = 0
    for number, line in enumerate(chunk.line.tolist()):
        before = corpus.before(line, 8)
        few = kept_before(list(before), drops=drops, border=loss == "all")
        source, target = (
            [
                *joined([ids[:-1] for ids in tokenizer.encode([pair[side] for pair in few])], separator),
                *tokenizer.encode([corpus.pair(line)[side]])[0],
            ]
            for side in (0, 1)
        )
        assert chunk.source.row(number).tolist() == source
        assert chunk.target.row(number).tolist() == target
        cut += 0 < len(few) < len(before)
    assert cut > 10


def test_tags_stay_in_front_and_the_oldest_sentence_goes_first(tmp_path):
    train = [{"documents": "train.jsonl", "source": "src", "target": "tgt", "tags": ["<2de>"]}]
    sources = sources_of(
        tmp_path,
        {**CONTEXT, "sentences": 4, "vary": False},
        **{"data.train": train, "data.max_tokens": 12, "data.tokenizer.vocabulary_size": 68},
    )
    chunk = encode_chunk(sources.feed, start=0, count=150)
    tag, separator = sources.tokenizer.id("<2de>"), sources.tokenizer.id("<sep>")
    assert chunk.source.lengths.max() <= 12
    assert chunk.target.lengths.max() <= 12
    for number, line in enumerate(chunk.line.tolist()):
        row = chunk.source.row(number).tolist()
        source, target = sources.tokenizer.encode(list(sources.corpora[0].pair(line)))
        assert row[0] == tag
        assert row.count(tag) == 1
        assert row[len(row) - len(source) :] == source
        assert chunk.target.row(number).tolist()[-len(target) :] == target
        assert row.count(separator) == chunk.target.row(number).tolist().count(separator)


def test_a_chunk_depends_on_nothing_but_its_positions(tmp_path):
    feed = sources_of(tmp_path, CONTEXT).feed
    whole, late = encode_chunk(feed, start=0, count=60), encode_chunk(feed, start=40, count=20)
    kept = whole.position >= 40
    assert late.prompt.tolist() == whole.prompt[kept].tolist()
    assert late.target.values.tolist() == whole.target.take(np.flatnonzero(kept)).values.tolist()


@given(lengths=st.lists(st.integers(0, 9), max_size=8), capacity=st.integers(0, 40))
def test_as_many_of_the_last_sentences_fit_as_there_is_room_for(lengths, capacity):
    best = max(n for n in range(len(lengths) + 1) if sum(lengths[len(lengths) - n :]) + n <= capacity)
    assert fitting(lengths, capacity) == best


def test_a_separator_stands_after_each_sentence():
    assert joined([[5, 6], [7]], 4) == [5, 6, 4, 7, 4]
