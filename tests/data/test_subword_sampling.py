import dataclasses
import functools
import io
import itertools
import json
import math
import pickle
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.children import printed
from tests.data.small_text import sentences, small_tokenizer
from tests.small_run import small_sources
from trimtab.config.sampling import BpeDropout, SubwordRegularization
from trimtab.data.chunk import encode_chunk
from trimtab.data.loader import chunks
from trimtab.data.mixture import Places
from trimtab.data.order import stream_keys
from trimtab.data.sentencepiece_model import SentencePiece
from trimtab.data.subword_sampling import plan_sampling
from trimtab.errors import InputError

NUM_DRAWS = 2000
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@functools.cache
def tokenizer_of(kind, *, size=150):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences(600)), model_writer=model, model_type=kind, vocab_size=size,
        pad_id=0, unk_id=1, bos_id=2, eos_id=3, hard_vocab_limit=False, minloglevel=2,
    )  # fmt: skip
    return SentencePiece(model.getvalue())


def sampling_of(tokenizer, config, *, side="source", seed=1):
    return plan_sampling(config, tokenizer, side=side, seed=seed)


def places(lines, *, corpus=0, turn=0):
    count = len(lines)
    return Places(np.full(count, corpus, np.int32), np.arange(count), np.full(count, turn))


def draws(tokenizer, word, config):
    """How often each split of a word is drawn, as texts of pieces."""
    rows = sampling_of(tokenizer, config).encode([word] * NUM_DRAWS, places(range(NUM_DRAWS)))
    return Counter(tuple(tokenizer.piece(id) for id in row[:-1]) for row in rows)


def chi_square_is_likely(seen, expected):
    """Whether counts are as expected: the statistic is within five standard deviations of its mean."""
    rare = [split for split in expected if expected[split] * NUM_DRAWS < 5]
    assert sum(seen[split] for split in rare) <= 5 + 3 * NUM_DRAWS * sum(expected[split] for split in rare)
    usual = [split for split in expected if split not in rare]
    statistic = sum(
        (seen[split] - NUM_DRAWS * expected[split]) ** 2 / (NUM_DRAWS * expected[split]) for split in usual
    )
    assert set(seen) <= set(expected)
    return statistic < len(usual) + 5 * math.sqrt(2 * len(usual))


def spelled(text):
    return "▁" + text.replace(" ", "▁")


@functools.cache
def processor_of(tokenizer):
    return sentencepiece.SentencePieceProcessor(model_proto=tokenizer.model)


def all_splits(tokenizer, text):
    """Every way to write a text in pieces, with the logarithm of its probability in a unigram model."""
    if not text:
        return {(): 0.0}
    splits = {}
    processor = processor_of(tokenizer)
    for end in range(1, len(text) + 1):
        id = processor.piece_to_id(text[:end])
        if id > 3:
            for rest, score in all_splits(tokenizer, text[end:]).items():
                splits[(text[:end], *rest)] = processor.get_score(id) + score
    return splits


@pytest.mark.parametrize(("word", "alpha"), [("ship boat", 0.1), ("the wind", 0.5), ("a red sail", 0.2)])
def test_splits_of_a_unigram_model_are_drawn_by_their_probability_to_the_power_of_alpha(word, alpha):
    tokenizer = tokenizer_of("unigram")
    powers = {split: math.exp(alpha * score) for split, score in all_splits(tokenizer, spelled(word)).items()}
    assert len(powers) > 3
    expected = {split: power / sum(powers.values()) for split, power in powers.items()}
    seen = draws(tokenizer, word, SubwordRegularization(alpha=alpha))
    assert chi_square_is_likely(seen, expected)


def test_with_nbest_only_the_best_splits_are_drawn():
    tokenizer = tokenizer_of("unigram")
    splits = all_splits(tokenizer, spelled("ship boat"))
    best = set(sorted(splits, key=splits.get)[-3:])
    assert set(draws(tokenizer, "ship boat", SubwordRegularization(alpha=0.1, nbest=3))) == best


def outcomes(ids, dropout, pieces, places, gone=frozenset()):
    """BPE-dropout as sentencepiece has it: the best merge comes first, and one that is left out is gone for good.

    Gives every result with its probability, by following both ends of each draw.
    """
    able = []
    for i, (left, right) in enumerate(pairwise(pieces)):
        if left + right in ids and (places[i], left, right) not in gone:
            able.append((ids[left + right], i))
    if not able:
        return Counter({pieces: 1.0})
    _, i = min(able)
    found = Counter()
    after = (
        (*pieces[:i], pieces[i] + pieces[i + 1], *pieces[i + 2 :]),
        places[: i + 1] + places[i + 2 :],
        gone,
    )
    without = pieces, places, gone | {(places[i], pieces[i], pieces[i + 1])}
    for share, state in ((1 - dropout, after), (dropout, without)):
        for split, chance in outcomes(ids, dropout, *state).items():
            found[split] += share * chance
    return found


@pytest.mark.parametrize(("word", "dropout"), [("ship", 0.1), ("harbour", 0.3), ("slowly", 0.5)])
def test_merges_of_a_bpe_model_are_left_out_as_often_as_dropout_says(word, dropout):
    tokenizer, text = tokenizer_of("bpe"), "▁" + word
    ids = {tokenizer.piece(id): id for id in range(tokenizer.num_ids)}
    expected = outcomes(ids, dropout, tuple(text), tuple(range(len(text))))
    assert len(expected) > 3
    assert sum(expected.values()) == pytest.approx(1)
    assert chi_square_is_likely(draws(tokenizer, word, BpeDropout(dropout=dropout)), expected)


def test_without_dropout_and_with_a_large_alpha_it_is_the_split_of_encode():
    lines = sentences(100, seed=3)
    for kind, config in (("bpe", BpeDropout(dropout=0)), ("unigram", SubwordRegularization(alpha=100))):
        tokenizer = tokenizer_of(kind)
        rows = sampling_of(tokenizer, config).encode(lines, places(lines))
        assert (
            np.mean([row == plain for row, plain in zip(rows, tokenizer.encode(lines), strict=True)]) > 0.97
        )
    everything = sampling_of(tokenizer_of("bpe"), BpeDropout(dropout=1)).encode(["ship"], places(["ship"]))
    assert len(everything[0]) == len("▁ship") + 1


@pytest.mark.parametrize(("kind", "config"), [("unigram", SubwordRegularization()), ("bpe", BpeDropout())])
@given(lines=st.lists(ANY_TEXT, max_size=4), seed=st.integers(0, 2**63 - 1))
@settings(max_examples=15, deadline=None)
def test_the_text_stays_the_same_and_the_end_symbol_is_there(kind, config, lines, seed):
    tokenizer = tokenizer_of(kind)
    rows = sampling_of(tokenizer, config, seed=seed).encode(lines, places(lines))
    assert all(row[-1] == tokenizer.end for row in rows)
    known = [all(id != tokenizer.unknown for id in row) for row in rows]
    pairs = zip(tokenizer.decode(rows), tokenizer.decode(tokenizer.encode(lines)), known, strict=True)
    assert all(text == plain for text, plain, is_known in pairs if is_known)


def test_a_split_belongs_to_its_example_and_to_nothing_that_was_drawn_before():
    tokenizer, lines = small_tokenizer(), sentences(30, seed=8)
    config = SubwordRegularization()
    whole = sampling_of(tokenizer, config).encode(lines, places(lines))
    again = pickle.loads(pickle.dumps(sampling_of(tokenizer, config)))
    where = places(lines)
    for number in (29, 3, 17):
        assert again.encode([lines[number]], where.take(np.array([number]))) == [whole[number]]
    others = [
        sampling_of(tokenizer, config, seed=2).encode(lines, where),
        sampling_of(tokenizer, config, side="target").encode(lines, where),
        sampling_of(tokenizer, config).encode(lines, places(lines, turn=1)),
        sampling_of(tokenizer, config).encode(lines, places(lines, corpus=1)),
    ]
    for other in others:
        assert sum(a == b for a, b in zip(whole, other, strict=True)) < 10


def test_half_a_character_is_named_with_its_line():
    lines = ["whole", "half \ud83d"]
    with pytest.raises(InputError, match="line 2 of 2 contains a lone surrogate"):
        sampling_of(small_tokenizer(), SubwordRegularization()).encode(lines, places(lines))


def test_sides_that_are_not_asked_for_are_split_as_always():
    tokenizer = small_tokenizer()
    assert sampling_of(tokenizer, None) is None
    assert sampling_of(tokenizer, SubwordRegularization(sides="source"), side="target") is None
    assert sampling_of(tokenizer, SubwordRegularization(sides="target"), side="target") is not None


@pytest.mark.parametrize(
    ("kind", "config", "got"),
    [
        ("bpe", SubwordRegularization(), "a bpe model"),
        ("unigram", BpeDropout(), "a unigram model"),
        ("word", BpeDropout(), "a word or character model"),
    ],
)
def test_a_model_of_another_kind_is_refused(kind, config, got):
    tokenizer = tokenizer_of(kind, size=40 if kind == "word" else 150)
    with pytest.raises(InputError, match="does not fit the model") as caught:
        sampling_of(tokenizer, config)
    assert caught.value.problems[0].got == got


def drawn() -> None:
    lines, kinds = sentences(20, seed=4), [
        ("unigram", SubwordRegularization()), ("unigram", SubwordRegularization(nbest=8)), ("bpe", BpeDropout())
    ]  # fmt: skip
    rows = [sampling_of(tokenizer_of(kind), config).encode(lines, places(lines)) for kind, config in kinds]
    print(json.dumps(rows))


def test_another_process_draws_the_same(capsys):
    """As a resumed run, and as workers do; sentencepiece's own generator does not."""
    there = printed(drawn)
    drawn()
    assert capsys.readouterr().out == there
    assert len(json.loads(there)) == 3


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_pieces_of_the_user_are_never_split_and_bytes_spell_what_has_no_piece(kind):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences(600)), model_writer=model, model_type=kind, vocab_size=420,
        pad_id=0, unk_id=1, bos_id=2, eos_id=3, hard_vocab_limit=False, minloglevel=2,
        user_defined_symbols=["<ph0>"], byte_fallback=True,
    )  # fmt: skip
    tokenizer = SentencePiece(model.getvalue())
    lines = ["see <ph0>, the \u6f22 of<ph0>"] * 50
    config = SubwordRegularization(alpha=0.01) if kind == "unigram" else BpeDropout(dropout=0.9)
    rows = sampling_of(tokenizer, config).encode(lines, places(lines))
    assert all(row.count(tokenizer.id("<ph0>")) == 2 for row in rows)
    assert set(tokenizer.decode(rows)) == set(tokenizer.decode(tokenizer.encode(lines[:1])))
    assert len({tuple(row) for row in rows}) > 1


def test_in_a_run_training_is_split_by_chance_and_validation_is_not(tmp_path):
    sampling = {"kind": "subword_regularization", "sides": "source"}
    _, plain = small_sources(tmp_path / "plain")
    _, sources = small_sources(tmp_path / "sampled", **{"data.tokenizer.sampling": sampling})
    valid = sources.valid["valid"]
    assert valid.source.values.tolist() == plain.valid["valid"].source.values.tolist()
    assert sources.sample.target.values.tolist() == plain.sample.target.values.tolist()
    assert sources.sample.source.offsets[-1] > 1.1 * plain.sample.source.offsets[-1]
    whole = encode_chunk(sources.feed, start=0, count=400)
    part = encode_chunk(sources.feed, start=150, count=100)
    assert part.source.values.tolist() == whole.source.between(150, 250).values.tolist()
    first, second = whole.source.between(0, 200), whole.source.between(200, 400)
    assert sorted(first.lengths.tolist()) != sorted(second.lengths.tolist()), "another epoch is another split"


def test_workers_draw_what_this_process_draws(tmp_path):
    sampling = {"kind": "subword_regularization"}
    _, sources = small_sources(tmp_path, **{"data.tokenizer.sampling": sampling})
    size = sources.feed.positions_per_chunk
    delivered = chunks(sources.feed, from_position=0, workers=2)
    for number, chunk in enumerate(itertools.islice(delivered, 3)):
        here = sources.feed.chunk(start=number * size, count=size)
        assert chunk.source.values.tolist() == here.source.values.tolist()
        assert chunk.target.values.tolist() == here.target.values.tolist()
    delivered.close()


def test_the_stream_of_a_line_is_named_by_seed_side_corpus_line_and_turn():
    named = []

    class Noted:
        def splits(self, texts, keys):
            named.extend(keys.tolist())
            return [[] for _ in texts]

    for side, number in (("source", 0), ("target", 1)):
        sampling = sampling_of(small_tokenizer(), SubwordRegularization(), side=side, seed=5)
        sampling._draw = Noted()
        where = Places(np.array([2, 2], np.int32), np.array([70, 71]), np.array([4, 4]))
        assert sampling.encode(["a", "b"], where) == [[sampling.tokenizer.end]] * 2
        # A change of these would give every resumed run other splits than it began with.
        assert named[-2:] == [int(stream_keys(5, 3, number, 2, line, 4)[0]) for line in (70, 71)]
    assert len(set(named)) == 4


def test_what_is_too_long_is_counted_after_the_split(tmp_path):
    _, sources = small_sources(tmp_path)
    longest = int(sources.sample.source.lengths.max())
    drawn = plan_sampling(SubwordRegularization(), sources.tokenizer, side="source", seed=1)
    feed = dataclasses.replace(sources.feed, source_sampling=drawn, max_tokens=longest)
    chunk = encode_chunk(feed, start=0, count=200)
    assert {example.reason for example in chunk.dropped} == {"too_long"}
    assert int(chunk.source.lengths.max()) <= longest
