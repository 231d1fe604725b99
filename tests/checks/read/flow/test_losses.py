from tests.checks.read.flow.following import flow
from trimtab.checks.read.flow.losses import cross_entropies


def test_functions_and_modules_are_found_with_their_options():
    told = flow("""
        import torch
        import torch.nn.functional as F
        criterion = torch.nn.CrossEntropyLoss(ignore_index=0).cuda()
        F.cross_entropy(a, b, ignore_index=1)
        criterion(a, b)
        torch.nn.BCEWithLogitsLoss()(a, b)
        other(a, b)
        F.mse_loss(a, b)
    """)
    found = list(cross_entropies(told))
    assert [loss.name for loss in found] == [
        "cross_entropy",
        "cross_entropy",
        "binary_cross_entropy_with_logits",
    ]
    assert [loss.ignore_index and loss.ignore_index.constant for loss in found] == [1, 0, None]
    assert found[0].logits.name == "a"
    assert found[0].targets.name == "b"
