import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.data.transforms.filters import is_outside_length


def test_words_are_counted_between_spaces_on_both_sides():
    def outside(source, target):
        return is_outside_length(source, target, unit="words", least=2, most=3)

    assert not outside("one two", "eins  zwei\tdrei")
    assert outside("one", "eins zwei")
    assert outside("one two", "eins")
    assert outside("one two three four", "eins zwei")
    assert outside("one two", "eins zwei drei vier")


def test_characters_are_counted_with_spaces():
    def outside(source, target):
        return is_outside_length(source, target, unit="characters", least=2, most=3)

    assert not outside("a b", "äö")
    assert outside("a b ", "äö")
    assert outside("a b", "ä")


@pytest.mark.slow
@given(st.text("ab \t\u3000", max_size=14), st.integers(0, 3), st.integers(1, 6))
def test_words_are_those_of_the_slow_twin(text, least, more):
    most = least + more
    for source, target in ((text, "a " * most), ("a " * most, text)):
        outside = is_outside_length(source, target, unit="words", least=least, most=most)
        assert outside == (not least <= len(text.split()) <= most)
