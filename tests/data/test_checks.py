import json
from dataclasses import asdict

import numpy as np
import pytest

from tests.data.demo_pairs import Listed, demo_pairs, lost
from trimtab.config.corpora import ParallelFiles, TrainCorpus
from trimtab.data import checks as checks_module
from trimtab.data.checks import check_data, quick_alignment, quick_shared
from trimtab.data.corpus import open_corpora
from trimtab.data.repeats import find_shared
from trimtab.data.scan import scan_corpus


@pytest.fixture
def made(tmp_path):
    """Corpora of given pairs, as files."""

    def corpora(name, pairs, kind=TrainCorpus, **settings):
        for side, number in (("en", 0), ("de", 1)):
            (tmp_path / f"{name}.{side}").write_text("".join(pair[number] + "\n" for pair in pairs))
        config = kind(source=f"{name}.en", target=f"{name}.de", **settings)
        return open_corpora([config], root=tmp_path, cache=tmp_path / "cache")

    return corpora


def test_every_line_is_checked(made, tmp_path):
    pairs = lost(demo_pairs(1000), 400)
    found = check_data(
        made("train", pairs), made("dev", [pair[::-1] for pair in demo_pairs(100)], ParallelFiles)
    )
    train, dev = found.corpora
    assert (train.alignment.lines, dev.alignment.lines) == (1000, 100)
    name, line = train.alignment.where.rsplit(":", 1)
    assert name == str(tmp_path / "train.en")
    assert abs(int(line) - 401) < 24
    assert [(each.name, each.other) for each in found.swapped] == [("dev", "train")]
    json.dumps(asdict(found))


def test_validation_lines_in_training_are_counted_with_their_places(made):
    pairs = demo_pairs(300)
    found = check_data(made("train", pairs), made("dev", pairs[100:110], ParallelFiles))
    (shared,) = found.shared
    assert (shared.valid, shared.train, shared.lines, shared.pair) == ("dev", "train", 10, 10)
    assert shared.places[0] == (1, 101)


def test_a_corpus_that_is_read_both_ways_is_checked_once(made):
    both = made("train", demo_pairs(100), tags=["<2de>"], both_directions=True, reverse_tags=["<2en>"])
    assert len(both) == 2
    assert len(check_data(both, []).corpora) == 1


def test_pairs_that_are_validation_pairs_in_reverse_are_counted_with_their_places(made):
    pairs = demo_pairs(400)
    train = [*pairs[:300], *(pair[::-1] for pair in pairs[300:320])]
    both = made("train", train, tags=["<2de>"], both_directions=True, reverse_tags=["<2en>"])
    held = made("dev", pairs[290:], ParallelFiles)
    for shared in (check_data(both, held).shared, quick_shared(both, held)):
        forward, back = shared
        assert (forward.valid, forward.train, forward.pair) == ("dev", "train", 10)
        assert (back.valid, back.train, back.lines, back.pair) == ("dev", "train reversed", 110, 20)
        assert back.places[0] == (11, 301)


def test_what_is_the_same_on_both_sides_is_not_counted_in_reverse_too(made):
    copies = [(source, source) for source, _ in demo_pairs(100)]
    both = made("train", copies, tags=["<2de>"], both_directions=True, reverse_tags=["<2en>"])
    held = made("dev", copies[:50], ParallelFiles)
    for shared in (check_data(both, held).shared, quick_shared(both, held)):
        assert [each.pair for each in shared] == [50, 0]


def test_of_a_corpus_that_is_read_both_ways_as_many_lines_are_compared_forward_as_of_any(made, monkeypatch):
    monkeypatch.setattr(checks_module, "QUICK_OVERLAP_LINES", 500)
    valid = [Listed(demo_pairs(2000), "dev"), Listed([pair[::-1] for pair in demo_pairs(2000)], "back")]
    one = quick_shared(made("train", demo_pairs(2000), tags=["<2de>"]), valid)
    both = made("train", demo_pairs(2000), tags=["<2de>"], both_directions=True, reverse_tags=["<2en>"])
    found = quick_shared(both, valid)
    assert found[:2] == one
    assert (found[3].train, found[3].pair) == ("train reversed", one[0].pair)


def test_a_text_in_one_language_is_not_compared_with_itself(made, tmp_path):
    (tmp_path / "mono").write_text("".join(source + "\n" for source, _ in demo_pairs(50)))
    mono = open_corpora([TrainCorpus(text="mono")], root=tmp_path, cache=tmp_path / "cache")
    (found,) = check_data(mono, []).corpora
    assert found.alignment is None


def test_a_quick_look_reads_a_bounded_number_of_lines(made, monkeypatch):
    monkeypatch.setattr(checks_module, "QUICK_LINES", 1000)
    monkeypatch.setattr(checks_module, "QUICK_OVERLAP_LINES", 500)
    (train,) = made("train", demo_pairs(2000))
    assert quick_alignment(train).lines == 1000
    (shared,) = quick_shared([train], [Listed(demo_pairs(2000), "dev")])
    assert shared.lines == 1000
    assert 0 < shared.pair < 600


@pytest.mark.parametrize("most", [1, 700, 10_000])
def test_a_quick_look_counts_what_scans_of_the_lines_that_it_reads_count(made, monkeypatch, most):
    monkeypatch.setattr(checks_module, "QUICK_OVERLAP_LINES", most)
    pairs = demo_pairs(2000)
    train = [*made("first", [*pairs[:1200], *pairs[:300]]), *made("second", pairs[900:])]
    valid = [Listed([*pairs[1000:1400], *demo_pairs(100, "valid")], "one"), Listed(pairs[5:9], "two")]
    slow = []
    for corpus in train:
        share = min(1.0, most / sum(map(len, train)))
        spread = np.linspace(0, len(corpus) - 1, max(1, int(len(corpus) * share))).astype(np.int64)
        scan = scan_corpus(corpus, np.unique(spread).tolist())
        slow += [
            find_shared(scan_corpus(each, range(len(each))), scan, names=(each.name, corpus.name))
            for each in valid
        ]
    fast = quick_shared(train, valid)
    assert [(e.valid, e.train, e.lines, e.pair, e.places) for e in fast] == [
        (e.valid, e.train, e.lines, e.pair, e.places) for e in slow
    ]
    assert most == 1 or fast[0].pair > 0
