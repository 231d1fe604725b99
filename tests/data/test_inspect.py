import dataclasses
import json

import numpy as np
import pytest

from tests.data.small_text import sentences, small_tokenizer
from trimtab.config.corpora import ParallelFiles, TrainCorpus
from trimtab.config.transforms import LengthFilter
from trimtab.data.corpus import open_corpora
from trimtab.data.inspect import inspect_data, render
from trimtab.data.tokenizers import Tokenizers
from trimtab.data.transforms.apply import build_transforms

EN, DE = sentences(40, seed=1), sentences(40, seed=2)


@pytest.fixture
def make(tmp_path):
    """A corpus of given pairs."""

    def corpus(name, pairs, **settings):
        for side, lines in zip(("en", "de"), zip(*pairs, strict=True), strict=True):
            (tmp_path / f"{name}.{side}").write_text("".join(line + "\n" for line in lines))
        config = TrainCorpus(source=f"{name}.en", target=f"{name}.de", **settings)
        return open_corpora([config], root=tmp_path, cache=tmp_path / "cache")[0]

    return corpus


def look(train, *, valid=(), max_tokens=256, transforms=(), **named):
    tokenizer = named.pop("tokenizer", small_tokenizer())
    tokenizers = Tokenizers(named.pop("source_tokenizer", tokenizer), tokenizer)
    pipeline = build_transforms(transforms)
    return inspect_data(
        train, pipeline=pipeline, tokenizers=tokenizers, max_tokens=max_tokens, valid=valid, **named
    )


def test_lengths_are_those_that_counting_one_by_one_gives(make):
    (seen,) = look([make("train", list(zip(EN, DE, strict=True)))]).train
    tokenizer = small_tokenizer()
    for side, lines in ((seen.source, EN), (seen.target, DE)):
        tokens = sorted(len(row) for row in tokenizer.encode(lines))
        words = sorted(len(line.split()) for line in lines)
        for found, expected in ((side.tokens, tokens), (side.words, words)):
            # The smallest length that a given share of the lines does not exceed.
            at = [expected[int(np.ceil(share * 40)) - 1] for share in (0.05, 0.5, 0.95, 0.99)]
            assert found == type(found)(expected[0], *at, expected[-1])
        characters = sum(map(len, lines))
        assert side.characters_per_token == pytest.approx(characters / (sum(tokens) - 40))
    rows = [sum(map(len, tokenizer.encode(lines))) for lines in (EN, DE)]
    assert seen.target_per_source == pytest.approx(rows[1] / rows[0])
    assert (seen.pairs, seen.inspected, seen.kept, seen.dropped) == (40, 40, 40, {})


def test_tags_count_as_source_tokens(make):
    pairs = list(zip(EN, DE, strict=True))
    (plain, tagged) = look([make("plain", pairs), make("tagged", pairs, tags=("<ui>",))]).train
    assert tagged.source.tokens.max == plain.source.tokens.max + 1
    assert tagged.target == plain.target
    assert tagged.source.characters_per_token == plain.source.characters_per_token


def test_what_is_dropped_is_counted_by_reason_with_the_first_three_examples(make):
    pairs = (
        [("", "leer")] + [(f"one {number}", "eins") for number in range(5)] + [(EN[0], " "), (EN[1], DE[1])]
    )
    (seen,) = look([make("train", pairs)], transforms=(LengthFilter(min=2),)).train
    assert {reason: found.count for reason, found in seen.dropped.items()} == {
        "length": 5,
        "empty_source": 1,
        "empty_target": 1,
    }
    assert next(iter(seen.dropped)) == "length", "most frequent first"
    assert [(each.line, each.source) for each in seen.dropped["length"].examples] == [
        (2, "one 0"),
        (3, "one 1"),
        (4, "one 2"),
    ]
    assert seen.kept == 1


def test_pairs_with_a_side_longer_than_the_limit_are_counted(make):
    long = " ".join(EN)
    (seen,) = look([make("train", [(long, "kurz"), ("short", long), ("short", "kurz")])], max_tokens=50).train
    assert seen.too_long == seen.dropped["too_long"].count == 2
    assert [each.line for each in seen.dropped["too_long"].examples] == [1, 2]
    assert seen.kept == 1
    assert seen.source.tokens.max > 50


def test_a_pair_exactly_as_long_as_the_limit_is_kept(make):
    longest = max(len(row) for row in small_tokenizer().encode([EN[0], DE[0]]))
    corpus = make("train", [(EN[0], DE[0])])
    assert look([corpus], max_tokens=longest).train[0].too_long == 0
    assert look([corpus], max_tokens=longest - 1).train[0].too_long == 1


def test_lines_of_which_the_tokenizer_sees_nothing_are_empty_as_they_are_in_training(make):
    pairs = [("ship", "Schiff"), ("\u200b", "Boot"), ("boat", "\u200b\ufeff"), ("", "Wind")]
    for tags in ((), ("<ui>",)):
        (seen,) = look([make(f"train{len(tags)}", pairs, tags=tags)]).train
        assert seen.kept == 1
        found = {reason: [each.line for each in why.examples] for reason, why in seen.dropped.items()}
        assert found == {"empty_source": [2, 4], "empty_target": [3]}


def test_unknown_tokens_and_bytes_are_shares_of_all_tokens(make):
    corpus = make("train", [("ship 龍", "Schiff"), ("ship", "Schiff")])
    plain = small_tokenizer(byte_fallback=False)
    (seen,) = look([corpus], tokenizer=plain).train
    assert seen.source.unknown_rate == pytest.approx(1 / sum(map(len, plain.encode(["ship 龍", "ship"]))))
    assert seen.target.unknown_rate == 0
    (seen,) = look([corpus]).train
    assert seen.source.byte_rate == pytest.approx(
        3 / sum(map(len, small_tokenizer().encode(["ship 龍", "ship"])))
    )


def test_copies_and_duplicates_are_shares_of_all_pairs(make):
    pairs = [("a", "a"), ("a", "b"), ("a", "b"), ("a", "b"), ("c", "d")]
    (seen,) = look([make("train", pairs)]).train
    assert seen.same_share == pytest.approx(1 / 5)
    assert seen.duplicate_share == pytest.approx(2 / 5)


def test_overlap_is_of_exact_sources_for_each_pair_of_sets(make):
    train = [make("one", [("a", "1"), ("b", "2")]), make("two", [("c", "3"), ("c ", "3")])]
    valid = [make("dev", [("a", "x"), ("c", "x"), ("c", "x"), ("d", "x")])]
    found = look(train, valid=valid).overlap
    assert [(each.valid, each.train, each.count, each.share) for each in found] == [
        ("dev", "one", 1, 0.25),
        ("dev", "two", 2, 0.5),
    ]


def test_validation_sets_are_not_filtered(make):
    corpus = make("dev", [("one", "eins"), ("one two", "eins zwei")])
    report = look([corpus], valid=[corpus], transforms=(LengthFilter(min=2),))
    assert (report.train[0].kept, report.valid[0].kept) == (1, 2)


def test_a_limit_reads_pairs_spread_over_the_corpus(make):
    corpus = make("train", [(f"line {number}", "" if number >= 3000 else "Zeile") for number in range(6000)])
    (seen,) = look([corpus], limit=3000).train
    assert (seen.pairs, seen.inspected) == (6000, 3000)
    assert seen.dropped["empty_target"].count == 1500
    assert seen.dropped["empty_target"].examples[0].line == 3001


def test_a_corpus_of_which_nothing_is_left_has_zeros(make):
    (seen,) = look([make("train", [("", "")])]).train
    assert (seen.kept, seen.source.tokens.max, seen.target_per_source) == (0, 0, 0.0)


def test_the_report_goes_to_json_and_to_text(make):
    corpus = make("train", list(zip(EN, DE, strict=True)))
    report = look([corpus], valid=[corpus], max_tokens=20)
    assert json.loads(json.dumps(dataclasses.asdict(report)))["train"][0]["pairs"] == 40
    assert "train (train): 40 pairs" in render(report)


def test_inspecting_uses_the_files_of_the_recipe_as_they_are(tmp_path):
    (tmp_path / "pairs.tsv").write_text("en\tde\none\teins\n")
    config = ParallelFiles(pairs="pairs.tsv", source="en", target="de")
    (seen,) = look(open_corpora([config], root=tmp_path, cache=tmp_path / "cache")).train
    assert (seen.name, seen.pairs) == ("pairs", 1)
