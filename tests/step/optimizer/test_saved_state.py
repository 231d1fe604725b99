import pytest
import torch

from trimtab.step.optimizer.saved_state import copy_saved_state


def test_values_come_into_the_memory_that_is_there():
    mine = {"a": torch.zeros(2), "step": torch.zeros(())}
    places = {name: tensor.data_ptr() for name, tensor in mine.items()}
    copy_saved_state(mine, {"step": torch.tensor(3.0), "a": torch.tensor([1.0, 2.0])})
    assert (mine["a"].tolist(), mine["step"].item()) == ([1.0, 2.0], 3.0)
    assert {name: tensor.data_ptr() for name, tensor in mine.items()} == places
    copy_saved_state(mine, {})
    assert mine["step"].item() == 3.0


@pytest.mark.parametrize(
    ("saved", "words"),
    [
        ({"a": torch.zeros(2)}, "differs in .*step"),
        ({"a": torch.zeros(2), "step": torch.zeros(()), "b": torch.zeros(1)}, "differs in .*b"),
        ({"a": torch.zeros(3), "step": torch.zeros(())}, r"a has shape \(3,\)"),
    ],
)
def test_other_names_or_shapes_are_refused(saved, words):
    with pytest.raises(KeyError, match=words):
        copy_saved_state({"a": torch.zeros(2), "step": torch.zeros(())}, saved)
