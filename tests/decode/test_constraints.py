import torch

from trimtab.decode.constraints import Constraints

CPU = torch.device("cpu")


def test_a_free_search_has_none():
    assert Constraints.of(None, device=CPU) is None
    assert Constraints.of([[], []], device=CPU) is None


def test_the_prefix_has_the_last_word():
    both = Constraints.of([[3, 3], []], no_repeat_ngram=1, device=CPU)
    assert both is not None
    logits = torch.randn(2, 1, 5)
    scores = both.apply(logits.log_softmax(-1), logits=logits, written=torch.tensor([[[3]], [[3]]]))
    reached = (scores > float("-inf")).tolist()
    assert reached == [[[False, False, False, True, False]], [[True, True, True, False, True]]]
    both.keep(torch.tensor([1]))
    again = both.apply(logits[1:].log_softmax(-1), logits=logits[1:], written=torch.tensor([[[3]]]))
    assert torch.equal(again, scores[1:])
