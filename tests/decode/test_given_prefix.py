import dataclasses

import pytest

from tests.decode.copying import copying
from tests.for_each import for_each
from trimtab.decode.given_prefix import prefix_ids
from trimtab.errors import InputError


def test_text_becomes_ids_without_the_end_and_ids_stay_themselves():
    setup = copying()
    (spelled,) = setup.spell_target(["ab"])
    assert prefix_ids(["ab", None, "", [7, 9], ()], setup) == [spelled, [], [], [7, 9], []]


def test_text_is_normalised_and_spelled_as_targets_are():
    setup = dataclasses.replace(
        copying(), normalise=str.strip, encode_target=lambda texts: [[9, 3] for _ in texts]
    )
    assert prefix_ids([" a "], setup) == [[9]]


@for_each(
    ("prefix", "words"),
    [
        ("abc", "cannot spell: 'abc'"),
        ([3], "ids that cannot be part of a translation"),
        ([999], "ids that cannot be part of a translation"),
        ([-1], "ids that cannot be part of a translation"),
        ([4] * 8, "is 8 tokens long"),
    ],
)
def test_what_cannot_be_forced_is_told_with_its_line(prefix, words):
    setup = copying(vocabulary=6, max_tokens=8)
    with pytest.raises(InputError, match=words) as caught:
        prefix_ids(["", prefix], setup, first_line=40)
    assert caught.value.problems[0].what == "prefix of line 42: cannot be forced"
