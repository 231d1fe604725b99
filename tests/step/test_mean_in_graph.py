import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy, kl_div, one_hot

from trimtab.errors import InputError
from trimtab.step.mean_in_graph import MOST_NODES, is_mean, refuse_mean, terms_of

WEIGHTS = torch.randn(4, 6, requires_grad=True)
PENALTY, VOCABULARY = 1e-4, 6


def batch(size):
    torch.manual_seed(size)
    return torch.randn(size, 4) @ WEIGHTS, torch.arange(size) % VOCABULARY


def judged(loss_of, *sizes):
    """Refuses what is not a sum in micro-batches of these sizes."""
    before = []
    for size in sizes:
        refuse_mean(loss_of(*batch(size)), num_targets=size, before=before)


def log_likelihoods(logits, labels):
    return logits.log_softmax(-1).gather(1, labels[:, None])


def penalty():
    return PENALTY * WEIGHTS.square().sum()


def losses_of(logits, labels):
    return cross_entropy(logits, labels, reduction="none")


AT_ONCE = {
    "cross_entropy": lambda x, y: cross_entropy(x, y),
    "negated": lambda x, y: -log_likelihoods(x, y).mean(),
    "halved": lambda x, y: cross_entropy(x, y).bfloat16() / 2,
    "label smoothing": lambda x, y: cross_entropy(x, y, label_smoothing=0.1),
    "beside a penalty": lambda x, y: cross_entropy(x, y) + penalty(),
    "smoothed beside a penalty": lambda x, y: penalty() + cross_entropy(x, y, label_smoothing=0.1),
    "two heads": lambda x, y: cross_entropy(x, y) + cross_entropy(2 * x, y),
    "a difference": lambda x, y: cross_entropy(x, y) - x.softmax(-1).square().mean(),
}
BY_CONSTANTS = {
    "times one": lambda x, y: 1.0 * cross_entropy(x, y),
    "a mean of sums": lambda x, y: -(x.log_softmax(-1) * one_hot(y, VOCABULARY)).sum(-1).mean(),
    "one by one": lambda x, y: torch.stack([cross_entropy(*each) for each in zip(x, y, strict=True)]).mean(),
    "weighted": lambda x, y: 0.5 * cross_entropy(x, y),
    "probabilities": lambda x, y: cross_entropy(x, one_hot(y, VOCABULARY).float()),
    "divided by hand": lambda x, y: cross_entropy(x, y, reduction="sum") / len(y),
    "weighted beside a penalty": lambda x, y: 0.5 * cross_entropy(x, y, label_smoothing=0.1) + penalty(),
    "a share": lambda x, y: cross_entropy(x, y, reduction="sum") * (1 / len(y)),
    "masked": lambda x, y: losses_of(x, y).sum() / torch.ones(len(y)).sum(),
    "batchmean": lambda x, y: kl_div(x, one_hot(y, VOCABULARY).float(), reduction="batchmean"),
    "beside a penalty": lambda x, y: cross_entropy(x, y, reduction="sum") / len(y) + penalty(),
}
SUMS = {
    "sum": lambda x, y: cross_entropy(x, y, reduction="sum"),
    "mean times number": lambda x, y: cross_entropy(x, y) * len(y),
    "number times mean": lambda x, y: -len(y) * log_likelihoods(x, y).mean(),
    "mean times number and weight": lambda x, y: cross_entropy(x, y) * len(y) * 0.5,
    "mean times a share of the number": lambda x, y: cross_entropy(x, y) * (len(y) * 0.1),
    "mean divided by one over the number": lambda x, y: cross_entropy(x, y) / (1 / len(y)),
    "weighted": lambda x, y: 0.5 * cross_entropy(x, y, reduction="sum"),
    "two views": lambda x, y: (losses_of(x, y).sum() + losses_of(2 * x, y).sum()) / 2,
    "smoothed": lambda x, y: cross_entropy(x, y, reduction="sum", label_smoothing=0.1),
    "smoothed mean times number": lambda x, y: cross_entropy(x, y, label_smoothing=0.1) * len(y),
    "beside a penalty": lambda x, y: cross_entropy(x, y, reduction="sum") + penalty(),
    "mean times number beside a penalty": lambda x, y: cross_entropy(x, y) * len(y) + penalty() * len(y),
    "beside a mean over the vocabulary": lambda x, y: losses_of(x, y).sum() + 0.01 * x.mean(0).mean(),
    "beside the mean of a few labels": lambda x, y: losses_of(x, y).sum() + cross_entropy(x[:1], y[:1]),
    "beside a mean of weights": lambda x, y: losses_of(x, y).sum() + WEIGHTS.square().mean(),
    "means over classes": lambda x, y: x.square().mean(-1).sum(),
    "a mean for each target": lambda x, y: sum(each.square().mean() for each in x),
    "two of them": lambda x, y: torch.stack([losses_of(x, y).sum(), losses_of(x, y).sum()]).mean(),
    "heads": lambda x, y: torch.stack([losses_of(x, y)] * 5).sum(1).mean(),
    "a product of two": lambda x, y: losses_of(x, y).sum() * WEIGHTS.square().mean(),
}


@pytest.mark.parametrize("loss_of", AT_ONCE.values(), ids=AT_ONCE)
def test_a_mean_at_the_root_is_seen_in_the_first_micro_batch(loss_of):
    with pytest.raises(InputError, match=r"(?s)is a mean.*num_targets gave 9.*reduction=\"sum\""):
        judged(loss_of, 9)


@pytest.mark.parametrize("loss_of", BY_CONSTANTS.values(), ids=BY_CONSTANTS)
def test_constants_that_do_not_grow_with_the_targets_are_seen_in_two_sizes(loss_of):
    judged(loss_of, 9, 9, 9)
    with pytest.raises(InputError, match=r"(?s)is a mean.*num_targets gave 9 and 5"):
        judged(loss_of, 9, 5)


@pytest.mark.parametrize("loss_of", SUMS.values(), ids=SUMS)
def test_a_sum_is_never_refused(loss_of):
    judged(loss_of, 9, 5, 2, 1, 10)


def test_one_target_or_none_has_no_mean_of_its_own():
    judged(AT_ONCE["cross_entropy"], 1, 1)
    ignored = cross_entropy(batch(3)[0], torch.full((3,), -100), reduction="sum")
    refuse_mean(ignored, num_targets=0, before=[])


def test_numbers_of_targets_that_hardly_differ_show_nothing():
    judged(lambda x, y: cross_entropy(x, y) * len(y), 2000, 2001)
    judged(BY_CONSTANTS["weighted"], 2000, 2001)


def test_a_loss_of_very_many_terms_is_taken_at_its_word():
    logits, labels = batch(9)
    terms = [cross_entropy(logits, labels) for _ in range(MOST_NODES)]
    assert terms_of(sum(terms).grad_fn) == []
    assert len(terms_of(sum(terms[:9]).grad_fn)) == 9


def test_a_constant_on_another_device_is_not_waited_for():
    loss = nn.functional.mse_loss(batch(3)[0], torch.zeros(3, 6)) * torch.ones((2,))[0]
    (term,) = terms_of(loss.grad_fn)
    assert (term.scale, is_mean(term.node, 3)) == (1.0, True)
    (term,) = terms_of(
        (torch.empty((), requires_grad=True, device="meta") * torch.ones((), device="meta")).grad_fn
    )
    assert term.scale is None
