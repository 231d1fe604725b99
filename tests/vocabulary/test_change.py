import pytest
import torch
from torch import nn

from trimtab.errors import InputError
from trimtab.vocabulary.change import VocabularyChange, changed_rows, check_finite

TABLE = torch.tensor([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0], [9.0, 9.0]])


def test_rows_of_kept_ids_follow_them():
    change = VocabularyChange.keeping([2, 0])
    assert changed_rows(TABLE, change, init="mean", known=3).tolist() == [[3.0, 0.0], [1.0, 0.0]]
    assert change.map([0, 2, 0]) == [1, 0, 1]
    assert change.map([0, 1]) is None


@pytest.mark.parametrize("init", ["mean", "norm_matched"])
def test_a_new_row_is_the_mean_of_what_it_replaces_and_as_long_where_that_is_asked(init):
    change = VocabularyChange((0, 1, 2, (0, 1)))
    row = changed_rows(TABLE, change, init=init, known=3)[3]
    mean = torch.tensor([0.5, 1.0])
    wanted = mean if init == "mean" else mean / mean.norm() * 1.5
    torch.testing.assert_close(row, wanted)


def test_a_bias_is_a_mean_either_way():
    bias = torch.tensor([1.0, -5.0, 2.0])
    change = VocabularyChange((2, (0, 1)))
    assert changed_rows(bias, change, init="norm_matched", known=3).tolist() == [2.0, -2.0]


def test_a_piece_that_nothing_spells_gets_the_mean_of_the_rows_that_stand_for_pieces():
    change = VocabularyChange((0, ()))
    assert change.unspelled == 1
    assert changed_rows(TABLE, change, init="mean", known=2)[1].tolist() == [0.5, 1.0]


def test_rows_keep_their_precision():
    half = nn.Embedding(4, 2).weight.detach().bfloat16()
    assert (
        changed_rows(half, VocabularyChange((1, (0, 1))), init="norm_matched", known=4).dtype
        == torch.bfloat16
    )


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_weights_that_are_not_finite_are_wrong_input(value):
    with pytest.raises(
        InputError, match=r"m: its weights are not finite[\s\S]*NaN or an infinite number in x"
    ):
        check_finite(torch.tensor([1.0, value]), "x", model="m")
    check_finite(torch.tensor([1.0]), "x", model="m")
    check_finite(torch.tensor([1]), "x", model="m")
