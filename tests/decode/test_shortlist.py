import numpy as np

from trimtab.decode.shortlist import Shortlist
from trimtab.types import Ragged


def shortlist(*, copies):
    return Shortlist(
        always=np.array([9, 3]),
        of_source=Ragged.of([[], [4, 5], [5, 6, 9], [], [1]]),
        num_ids=12,
        copies=copies,
    )


def test_a_batch_has_what_is_frequent_and_what_its_source_is_translated_by():
    assert shortlist(copies=False).ids(np.array([2, 1, 2])).tolist() == [3, 4, 5, 6, 9]
    assert shortlist(copies=False).ids(np.array([0])).tolist() == [3, 9]


def test_with_one_vocabulary_what_the_source_has_can_be_copied():
    assert shortlist(copies=True).ids(np.array([1, 4])).tolist() == [1, 3, 4, 5, 9]
