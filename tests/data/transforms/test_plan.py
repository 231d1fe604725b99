import pickle
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.data.fake_feed import FakeTokenizer
from trimtab.config.corpus_filters import CopyFilter, DuplicateFilter, LanguageFilter
from trimtab.config.transforms import DenoiseTransform, LengthFilter, NormalizeTransform
from trimtab.data.chunk import Feed, encode_chunk
from trimtab.data.mixture import Mixture
from trimtab.data.transforms.apply import Dropped, build_transforms
from trimtab.data.transforms.plan import plan_transforms


@dataclass(frozen=True)
class Listed:
    """A corpus in memory."""

    pairs: tuple[tuple[str, str], ...]
    name: str = "a"
    tags: tuple[str, ...] = ()
    is_reversed: bool = False
    is_monolingual: bool = False

    @property
    def fingerprint(self):
        return str(self.pairs)

    def __len__(self):
        return len(self.pairs)

    def num_bytes(self, line):
        return 0

    def pair(self, line):
        return self.pairs[line]

    def several(self, lines):
        return (self.pairs[line] for line in lines)


def reasons(pipeline, corpora):
    """Why each line of each corpus is dropped; nothing where it is kept."""
    return [
        [
            outcome.reason
            if isinstance(outcome := pipeline.of(number).apply(*pair, None, line), Dropped)
            else ""
            for line, pair in enumerate(corpus.pairs)
        ]
        for number, corpus in enumerate(corpora)
    ]


TEXTS = st.sampled_from(["", "a", " a", "a b", "A b", "a b c"])
CORPORA = st.lists(
    st.builds(
        Listed, st.lists(st.tuples(TEXTS, TEXTS), max_size=6).map(tuple), tags=st.sampled_from([(), ("<t>",)])
    ),
    max_size=3,
)


@given(CORPORA, st.sampled_from(["pair", "source", "target"]), st.booleans(), st.booleans())
def test_duplicates_are_those_that_a_set_has_seen_behind_the_transforms_before(
    tmp_path_factory, corpora, by, exact, first
):
    config = DuplicateFilter(by=by, exact=exact)
    others = (NormalizeTransform(), LengthFilter(max=2))
    configs = (config, *others) if first else (*others, config)
    cache = tmp_path_factory.mktemp("cache")
    before, after = build_transforms(() if first else others), build_transforms(others if first else ())
    expected, seen = [], set()
    for corpus in corpora:
        expected.append([])
        for pair in corpus.pairs:
            outcome = before.apply(*pair)
            if not isinstance(outcome, Dropped):
                sides = [side if exact else "".join(side.casefold().split()) for side in outcome]
                key = (corpus.tags, *{"pair": sides, "source": sides[:1], "target": sides[1:]}[by])
                outcome = Dropped("duplicate") if key in seen else after.apply(*outcome)
                seen.add(key)
            expected[-1].append(outcome.reason if isinstance(outcome, Dropped) else "")
    for _ in ("found", "read from the cache"):
        assert reasons(plan_transforms(configs, corpora, cache=cache), corpora) == expected


def test_what_was_found_is_kept_for_the_same_corpora_and_transforms(tmp_path):
    corpora, heard = [Listed((("a", "b"), ("a", "b")))], []

    def planned(configs, corpora):
        return reasons(plan_transforms(configs, corpora, cache=tmp_path, report=heard.append), corpora)

    plain = (DuplicateFilter(),)
    assert planned(plain, corpora) == planned(plain, corpora) == [["", "duplicate"]]
    assert heard == ["looking for duplicates among 2 pairs"]
    planned((NormalizeTransform(), *plain), corpora)
    planned(plain, [Listed((("a", "b"), ("c", "d")))])
    assert len(heard) == 3
    for file in tmp_path.iterdir():
        file.write_bytes(b"spoilt")
    assert planned(plain, corpora) == [["", "duplicate"]]


def test_recipes_without_such_filters_have_one_pipeline_for_all(tmp_path):
    pipeline = plan_transforms((NormalizeTransform(),), [Listed(())], cache=tmp_path)
    assert pipeline.of(0) is pipeline
    assert (len(pipeline.steps), pipeline.by_corpus) == (1, ())
    assert not list(tmp_path.iterdir())


SENTENCE = "A sentence that is long enough to be judged."
SATZ = "Ein Satz, der lang genug ist, um beurteilt zu werden."


def test_a_text_in_one_language_is_no_copy(tmp_path):
    pairs = ((SENTENCE, SENTENCE), (SENTENCE, SATZ))
    corpora = [Listed(pairs), Listed(pairs[:1], is_monolingual=True)]
    configs = (CopyFilter(), DenoiseTransform())
    assert reasons(plan_transforms(configs, corpora, cache=tmp_path), corpora) == [["copy", ""], [""]]


@pytest.mark.slow
def test_languages_are_exchanged_where_a_corpus_is_read_the_other_way(tmp_path):
    pytest.importorskip("py3langid")
    one, other = (SENTENCE, SATZ), (SATZ, SENTENCE)
    corpora = [
        Listed((one, other), "a"),
        Listed((one, other), "a reversed", is_reversed=True),
        Listed(((SENTENCE,) * 2, (SATZ,) * 2), "mono", is_monolingual=True),
    ]
    config = LanguageFilter(source="en", target="de")
    pipeline = plan_transforms((config,), corpora, cache=tmp_path)
    assert reasons(pipeline, corpora) == [["", "language"], ["language", ""], ["", ""]]
    assert "py3langid" in pipeline.fingerprints["languages are told apart by"]
    french = LanguageFilter(source="fr", target="de", only=("a", "mono"))
    only = plan_transforms((french,), corpora, cache=tmp_path)
    assert reasons(only, corpora) == [["language"] * 2, ["language"] * 2, ["language", ""]]
    assert (
        reasons(
            plan_transforms((LanguageFilter(source="fr", only=("b",)),), corpora, cache=tmp_path), corpora
        )
        == [["", ""]] * 3
    )


def test_the_stream_drops_the_same_lines_in_any_process_and_from_any_position(tmp_path: Path):
    words = [str(number) for number in np.random.default_rng(0).integers(10, 40, 90)]
    corpora = [
        Listed(tuple((each, each) for each in words[:60]), "a"),
        Listed(tuple((each, each) for each in words[60:]), "b"),
    ]
    pipeline = plan_transforms((DuplicateFilter(),), corpora, cache=tmp_path)
    mixture = Mixture.of(lengths=[60, 30], weights=[1.0, 2.0], seed=1, temperature=1.0)
    feed = Feed(corpora, pipeline, FakeTokenizer(), mixture, 8)
    whole = encode_chunk(feed, start=0, count=200)
    copied = pickle.loads(pickle.dumps(feed))
    parts = [encode_chunk(copied, start=start, count=50) for start in (0, 50, 100, 150)]
    assert [each for part in parts for each in part.dropped] == list(whole.dropped)
    assert np.array_equal(np.concatenate([part.position for part in parts]), whole.position)
    kept = {(int(corpus), int(line)) for corpus, line in zip(whole.corpus, whole.line, strict=True)}
    texts = [corpora[corpus].pairs[line] for corpus, line in kept]
    assert len(set(texts)) == len(texts)
    assert {each.reason for each in whole.dropped} == {"duplicate"}
