from hypothesis import given
from hypothesis import strategies as st

from trimtab.decode.batches import MOST_HYPOTHESES, batches_by_tokens


@given(
    lengths=st.lists(st.integers(1, 300), max_size=80),
    beam=st.integers(1, 8),
    batch_tokens=st.integers(1, 4000),
)
def test_each_row_comes_once_and_no_batch_is_over_the_budget_unless_it_is_one_row(
    lengths, beam, batch_tokens
):
    batches = list(batches_by_tokens(lengths, beam=beam, batch_tokens=batch_tokens))
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    for batch in batches:
        padded = max(lengths[row] for row in batch) * len(batch) * beam
        assert padded <= batch_tokens or len(batch) == 1
    ordered = [lengths[row] for batch in batches for row in batch]
    assert ordered == sorted(lengths, reverse=True)


def test_a_batch_takes_all_that_fits():
    assert list(batches_by_tokens([5, 5, 5, 5, 4], beam=2, batch_tokens=30)) == [[0, 1, 2], [3, 4]]


def test_rows_of_one_token_do_not_make_a_batch_without_end():
    batches = list(batches_by_tokens([1] * 3000, beam=4, batch_tokens=10**9))
    assert max(map(len, batches)) == MOST_HYPOTHESES // 4
    batches = list(batches_by_tokens([1] * 3000, beam=4, batch_tokens=10**9, most_hypotheses=4096))
    assert list(map(len, batches)) == [1024, 1024, 952]
