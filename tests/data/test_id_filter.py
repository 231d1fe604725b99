import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trimtab.data.id_filter import REFUSED, TOO_LONG, fix_for_dropped, reasons_in_ids
from trimtab.data.transforms.apply import EMPTY_TARGET
from trimtab.types import Ragged

END, TAG = 3, 5


def rows(contents, tags=()):
    """Rows of so many content ids each, behind so many tags each."""
    tags = tags or [0] * len(contents)
    return Ragged.of(
        [[TAG] * before + [9] * count + [END] for before, count in zip(tags, contents, strict=True)]
    )


@given(
    pairs=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9), st.integers(0, 9)), max_size=12),
    max_tokens=st.integers(2, 9),
)
def test_a_pair_is_kept_that_has_content_on_both_sides_and_fits(pairs, max_tokens):
    tags, sources, targets = ([pair[i] for pair in pairs] for i in range(3))
    found = reasons_in_ids(
        rows(sources, tags), rows(targets), num_tags=np.array(tags, np.int64), max_tokens=max_tokens
    )
    expected = []
    for before, source, target in pairs:
        long = max(before + source, target) + 1 > max_tokens
        empty = "empty_source" if source == 0 else "empty_target" if target == 0 else ""
        expected.append(empty or ("too_long" if long else ""))
    assert found == expected


def test_one_number_of_tags_may_stand_for_all_rows():
    found = reasons_in_ids(rows([0, 1], [2, 2]), rows([4, 4]), num_tags=2, max_tokens=8)
    assert found == ["empty_source", ""]


def test_what_to_change_follows_from_the_reasons():
    assert "max_tokens, which source and target share" in fix_for_dropped([TOO_LONG], shares_length=True)
    refused, empty = fix_for_dropped([REFUSED]), fix_for_dropped([EMPTY_TARGET])
    assert "chat template" in refused
    assert "assistant" in empty
    assert not any("max_tokens" in each for each in (refused, empty))
    assert "max_tokens" in fix_for_dropped([REFUSED, EMPTY_TARGET, "repeated"])
