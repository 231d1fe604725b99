import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trimtab.config.corpus_filters import DuplicateFilter
from trimtab.data.transforms.plan import find_repeated, key_of


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=20))
def test_what_a_set_has_seen_is_repeated(lines):
    seen, expected = set(), []
    for key, counts in lines:
        expected.append(counts and key in seen)
        seen |= {key} if counts else set()
    keys = np.array([key for key, _ in lines], np.uint64)
    assert find_repeated(keys, np.array([counts for _, counts in lines], bool)).tolist() == expected


def keys(pairs, tags=(), **named):
    config = DuplicateFilter(**named)
    return [key_of(*pair, tags=tags, config=config) for pair in pairs]


SIDES = st.lists(st.tuples(st.text("ab ", max_size=3), st.text("ab ", max_size=3)), min_size=2, max_size=6)


@given(SIDES)
def test_pairs_have_one_key_where_both_sides_are_the_same(pairs):
    assert len(set(keys(pairs))) == len(set(pairs))
    assert len(set(keys(pairs, by="source"))) == len({source for source, _ in pairs})
    assert len(set(keys(pairs, by="target"))) == len({target for _, target in pairs})


def test_tags_make_another_key_and_no_list_of_texts_is_written_like_another():
    pair = ("one", "eins")
    found = {keys([pair], tags)[0] for tags in ((), ("<a>",), ("<b>",), ("<a>", "<b>"), ("<a><b>",))}
    assert len(found) == 5
    assert keys([("ab", "c")]) != keys([("a", "bc")])
    assert keys([pair]) == keys([pair]) == [5594637214004196200]


def test_case_punctuation_and_digits_do_not_count_where_it_is_not_exact():
    loose = keys([("Page 1.", "Seite 1."), ("page 2", "SEITE  7")], exact=False)
    assert loose[0] == loose[1]
