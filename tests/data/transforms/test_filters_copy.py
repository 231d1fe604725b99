from collections import Counter
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.data.transforms.filters import is_copy


@for_each(
    ("source", "target", "copied"),
    [
        ("The file could not be opened.", "The file could not be opened.", True),
        ("The file could not be opened.", "the file could not be opened!", True),
        ("The file could not be opened.", "The file could now be opened.", True),
        ("The file could not be opened.", "Die Datei konnte nicht geöffnet werden.", False),
        ("Seite 1 von 2 des Dokuments", "Seite 2 von 9 des Dokuments", False),
        ("OK", "OK", False),
        ("----------------------", "----------------------", True),
        ("", "----------------------", False),
    ],
)
def test_sides_that_are_the_same_or_nearly_are_copies(source, target, copied):
    named = {"similarity": 0.9, "min_characters": 20}
    assert is_copy(source, target, **named) is copied
    assert is_copy(target, source, **named) is copied


def test_only_the_same_text_is_a_copy_where_the_similarity_is_one():
    pair = ("The file could not be opened.", "The file could now be opened.")
    assert not is_copy(*pair, similarity=1.0, min_characters=0)
    assert is_copy(pair[0], pair[0].upper(), similarity=1.0, min_characters=0)
    assert is_copy("OK", "OK", similarity=1.0, min_characters=0)


TEXTS = st.text("abc", min_size=1, max_size=12)


@given(TEXTS, TEXTS, st.floats(0.05, 1))
def test_it_is_the_coefficient_of_dice(source, target, similarity):
    one, other = (Counter(pairwise(text)) for text in (source, target))
    total = one.total() + other.total()
    alike = total > 0 and 2 * (one & other).total() >= similarity * total
    expected = source == target or (alike and min(one.total(), other.total()) > 0)
    assert is_copy(source, target, similarity=similarity, min_characters=0) is expected
