import pytest
import torch

from trimtab.decode import teacher_forced
from trimtab.decode.teacher_forced import label_log_probabilities
from trimtab.types import IGNORE


@pytest.mark.parametrize("at_once", [3, 4, 1024])
def test_each_label_has_its_entry_of_the_log_softmax_over_the_vocabulary(monkeypatch, at_once):
    monkeypatch.setattr(teacher_forced, "TOKENS_AT_ONCE", at_once)
    hidden, matrix = torch.randn(8, 5), torch.randn(12, 5)
    labels = torch.tensor([0, 9, IGNORE, 3, 3, IGNORE, 1, 7])
    found = label_log_probabilities(hidden, matrix, labels, num_ids=10)
    expected = (hidden @ matrix[:10].T).log_softmax(-1)
    for place, label in enumerate(labels.tolist()):
        wanted = 0.0 if label == IGNORE else float(expected[place, label])
        assert float(found[place]) == pytest.approx(wanted, abs=1e-5)


def test_no_tokens_give_no_numbers():
    nothing = label_log_probabilities(
        torch.zeros(0, 5), torch.zeros(6, 5), torch.zeros(0, dtype=torch.long), num_ids=6
    )
    assert nothing.shape == (0,)
