import json

import numpy as np

from tests.data.fake_feed import FakeCorpus
from trimtab.data.ledger import Ledger
from trimtab.data.text_global_batch import TextGlobalBatch
from trimtab.types import DroppedExample, Ragged

CORPORA = [FakeCorpus("prose", 100), FakeCorpus("ui", 50)]


def window(corpus, dropped=()):
    rows = Ragged.of([[1]] * len(corpus))
    examples = tuple(DroppedExample(*each) for each in dropped)
    return TextGlobalBatch(rows, rows, np.array(corpus, np.int32), np.arange(len(corpus)), 0, examples)


def test_what_was_seen_is_what_was_kept_and_what_was_dropped():
    ledger = Ledger.of(CORPORA)
    ledger.add(window([0, 1, 0], dropped=[(1, 4, "too_long"), (1, 5, "ratio")]))
    ledger.add(window([0], dropped=[(1, 9, "ratio")]))
    prose, ui = ledger.to_dict()["corpora"]
    assert (prose["name"], prose["seen"], prose["kept"], prose["dropped"]) == ("prose", 3, 3, {})
    assert (ui["name"], ui["seen"], ui["kept"]) == ("ui", 4, 1)
    assert (prose["share"], ui["share"]) == (0.428571, 0.571429), "of all that was seen"
    assert ui["dropped"] == {"too_long": {"count": 1, "lines": [5]}, "ratio": {"count": 2, "lines": [6, 10]}}


def test_five_different_lines_are_kept_as_examples_and_the_rest_counted():
    ledger = Ledger.of(CORPORA)
    for line in (3, 3, 1, 4, 3, 8, 9, 7):
        ledger.add(window([], dropped=[(0, line, "ratio")]))
    assert ledger.to_dict()["corpora"][0]["dropped"]["ratio"] == {"count": 8, "lines": [4, 2, 5, 9, 10]}


def test_a_ledger_survives_json():
    ledger = Ledger.of(CORPORA)
    ledger.add(window([0, 1], dropped=[(0, 2, "ratio")]))
    ledger.add(window([], dropped=[(0, 3, "copy")]))
    again = Ledger.from_dict(json.loads(json.dumps(ledger.to_dict(), sort_keys=True)))
    assert again == ledger
    assert json.dumps(again.to_dict()) == json.dumps(ledger.to_dict())
    again.add(window([1]))
    assert again != ledger


def test_documents_without_a_text_are_counted_once_and_not_as_the_stream_goes_on():
    corpus = FakeCorpus("texts", 4, empty_documents=(0, 2))
    ledger = Ledger.of([corpus])
    ledger.add(window([0, 0]))
    (counts,) = ledger.to_dict()["corpora"]
    assert (counts["seen"], counts["kept"]) == (4, 2)
    assert counts["dropped"] == {"empty document": {"count": 2, "lines": [1, 3]}}


def test_lines_are_those_of_the_file_its_header_included():
    ledger = Ledger.of([FakeCorpus("table", 9, first_line=2)])
    ledger.add(window([], dropped=[(0, 3, "ratio")]))
    assert ledger.to_dict()["corpora"][0]["dropped"]["ratio"] == {"count": 1, "lines": [5]}


def test_what_was_passed_over_is_counted_apart_and_survives():
    ledger = Ledger.of([FakeCorpus("memory", 9, passed_over=(("not_translated", 7),))])
    ledger.add(window([0]))
    again = Ledger.from_dict(json.loads(json.dumps(ledger.to_dict())))
    (counts,) = again.to_dict()["corpora"]
    assert (counts["seen"], counts["passed_over"]) == (1, {"not_translated": 7})
    assert again == ledger


def test_examples_in_files_of_their_own_are_named_by_them_and_survive_json():
    class Images(FakeCorpus):
        def file_of(self, line):
            return "" if line == 5 else f"{line}.png"

    ledger = Ledger.of([CORPORA[0], Images("images", 9)])
    dropped = [(0, 1, "ratio"), *((1, line, "too small") for line in (3, 3, 5, 4))]
    ledger.add(window([], dropped=dropped))
    prose, images = ledger.to_dict()["corpora"]
    assert prose["dropped"]["ratio"] == {"count": 1, "lines": [2]}
    assert images["dropped"]["too small"] == {"count": 4, "lines": [4, 6, 5], "files": ["3.png", "4.png"]}
    assert Ledger.from_dict(json.loads(json.dumps(ledger.to_dict()))) == ledger
