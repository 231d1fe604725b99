import torch
import torch.nn.functional as F

from trimtab.flow import IGNORE
from trimtab.loss.plain import plain_cross_entropy
from trimtab.loss.terms import Terms


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
