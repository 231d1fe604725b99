from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.data.transforms.test_protect import PARTS, TEXTS, protector
from trimtab.data.transforms.restore import RestoreCounts, Restorer, restore


@given(TEXTS | st.text(), st.integers(1, 4), st.booleans())
def test_protecting_and_restoring_is_the_identity_on_any_text(text, symbols, exact):
    protect = protector(symbols=symbols)
    protected = protect.protect(text)
    assert restore(protected.text, protected, protect, exact=exact) == text


@given(
    st.lists(st.sampled_from(["{0}", "{n}", "%s", "x", "y"]), max_size=6),
    st.lists(st.sampled_from(PARTS), max_size=6),
)
@example(["{0}"], ["<ph", "<ph0>", "1>"])
def test_whatever_the_model_writes_each_value_stands_as_often_as_in_the_source(words, written):
    protect = protector()
    line = " ".join(words)
    source = protect.protect(line)
    # What a model writes beyond the source's values by itself is its own affair.
    written = [part for part in written if part.startswith("<ph") or part not in line.split()]
    out = restore(" ".join(written), source, protect, exact=True)
    # Counted as text, since what the model writes around a value may read as a tag that holds it.
    assert {value: out.count(value) for value in source.values} == dict(Counter(protect.values(line)))


def test_symbols_missing_and_doubled_are_mended_and_counted():
    protect, counts = protector(), RestoreCounts()
    source = protect.protect("Copy %s to {0} and {1}")
    out = restore("<ph1> und <ph1> zu <ph0> <ph9> da", source, protect, exact=True, counts=counts)
    assert out == "{0} und zu %s da {1}"
    assert counts == RestoreCounts(restored=2, missing=1, surplus=2)


def test_without_exact_what_the_model_wrote_is_put_back():
    protect, counts = protector(), RestoreCounts()
    source = protect.protect("Copy %s to {0}")
    assert restore("<ph1> und <ph1> <ph9>", source, protect, counts=counts) == "{0} und {0}"
    assert counts == RestoreCounts(restored=1, missing=1, surplus=2)


def test_a_value_that_the_model_copied_itself_is_not_put_in_again():
    protect = protector()
    source = protect.protect("Copy %s")
    assert restore("%s kopieren", source, protect, exact=True) == "%s kopieren"


def test_lines_are_restored_in_order_however_far_the_translation_reads_ahead():
    protect = protector()
    restorer = Restorer(protect, protect.protect, exact=True)

    def translate(lines):
        yield from [protect.protect(line).text.upper().replace("<PH", "<ph") for line in list(lines)]

    lines = [f"line %{number} of {{n}}" for number in range(50)]
    assert list(restorer.stream(lines, translate, restorer.restored)) == [
        f"LINE %{number} OF {{n}}" for number in range(50)
    ]
    assert restorer.counts.restored == 100


@pytest.mark.parametrize("line", ["half \ud800 {0}", "a\u2028{0}"])
def test_a_restored_line_is_one_line_of_whole_characters(line):
    protect = protector(expressions=("[^ ]+ ?",))
    restored = Restorer(protect, protect.protect, exact=True).restored(line, "<ph0><ph1><ph2>")
    assert restored.splitlines() == [restored]
    restored.encode()
