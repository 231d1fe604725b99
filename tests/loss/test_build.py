import torch

from trimtab.config.loss import CrossEntropyLoss, Truncate
from trimtab.loss.build import build_loss
from trimtab.loss.plain import plain_cross_entropy
from trimtab.loss.terms import Terms


def test_the_built_loss_is_the_one_that_the_settings_describe():
    torch.manual_seed(0)
    hidden, matrix, labels = torch.randn(5, 8), torch.randn(64, 8), torch.tensor([1, 2, 3, 4, 5])
    config = CrossEntropyLoss(label_smoothing=0.3, z_loss=0.01)
    built = build_loss(config, num_ids=60, device=torch.device("cpu"))(hidden, matrix, labels)
    plain = plain_cross_entropy(hidden, matrix, labels, Terms(60, 0.3, 0.01))
    torch.testing.assert_close(built.objective, plain.objective)
    torch.testing.assert_close(built.loss, plain.loss)


def test_labels_are_left_out_only_once_it_is_told_to():
    torch.manual_seed(0)
    hidden, matrix, labels = torch.randn(50, 8), torch.randn(64, 8), torch.randint(0, 60, (50,))
    config = CrossEntropyLoss(truncate=Truncate(error_norm=1.1))
    loss = build_loss(config, num_ids=60, device=torch.device("cpu"))
    assert loss(hidden, matrix, labels).truncated == 0
    loss.truncating = True
    expected = plain_cross_entropy(hidden, matrix, labels, Terms(60, 0.1, 0.0, 1.1)).truncated
    assert loss(hidden, matrix, labels).truncated == expected > 0
