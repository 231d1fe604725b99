import math

import torch
import torch.nn.functional as F

from trimtab.loss.plain import error_norm, plain_cross_entropy
from trimtab.loss.terms import Terms
from trimtab.types import IGNORE


def test_it_equals_pytorchs_cross_entropy_with_smoothing_over_the_real_vocabulary():
    torch.manual_seed(0)
    hidden, matrix = torch.randn(9, 8), torch.randn(64, 8)
    labels = torch.tensor([0, 1, 49, IGNORE, 4, 5, 6, IGNORE, 8])
    out = plain_cross_entropy(hidden, matrix, labels, Terms(50, 0.1, 0.0))
    logits = hidden @ matrix[:50].T
    torch.testing.assert_close(
        out.objective,
        F.cross_entropy(logits, labels, reduction="sum", label_smoothing=0.1, ignore_index=IGNORE),
    )
    torch.testing.assert_close(
        out.loss, F.cross_entropy(logits, labels, reduction="sum", ignore_index=IGNORE)
    )


def test_z_loss_is_the_square_of_log_z():
    torch.manual_seed(0)
    hidden, matrix, labels = torch.randn(3, 8), torch.randn(64, 8), torch.tensor([1, 2, IGNORE])
    without = plain_cross_entropy(hidden, matrix, labels, Terms(64, 0.0, 0.0))
    with_it = plain_cross_entropy(hidden, matrix, labels, Terms(64, 0.0, 0.5))
    log_z = (hidden @ matrix.T).logsumexp(1)[:2]
    torch.testing.assert_close(with_it.objective - without.objective, 0.5 * log_z.square().sum())
    torch.testing.assert_close(with_it.loss, without.loss)


def test_the_error_norm_is_the_distance_to_a_certain_model():
    logits = torch.tensor([[9.0, 0.0, 0.0], [0.0, 9.0, 0.0], [0.0, 0.0, 0.0]]) * 10
    labels = torch.tensor([0, 0, 0])
    expected = [0.0, math.sqrt(2), math.sqrt((2 / 3) ** 2 + 2 / 9)]
    torch.testing.assert_close(error_norm(logits, labels), torch.tensor(expected))


def test_a_label_that_the_model_holds_to_be_wrong_leaves_the_objective_and_stays_in_the_loss():
    hidden = torch.tensor([[8.0, 0, 0], [8.0, 0, 0], [0, 0, 0], [8.0, 0, 0]])
    labels = torch.tensor([0, 1, 2, IGNORE])
    whole = plain_cross_entropy(hidden, torch.eye(3), labels, Terms(3))
    cut = plain_cross_entropy(hidden, torch.eye(3), labels, Terms(3, truncate_above=1.2))
    assert whole.truncated == 0
    assert cut.truncated == 1
    assert cut.loss == whole.loss
    torch.testing.assert_close(whole.objective - cut.objective, torch.tensor(8.0), atol=1e-2, rtol=0)
