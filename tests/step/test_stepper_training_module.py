import torch
from torch import nn

from tests.images import ImageBatch
from trimtab.step.stepper import TrainingModule
from trimtab.types import LossOutput

CPU = torch.device("cpu")
seen = []
THREE = ImageBatch(torch.ones(3, 1), torch.zeros(3))


class Scaled(nn.Module):
    def __init__(self, by):
        super().__init__()
        self.by = nn.Parameter(torch.tensor([by]))

    def forward(self, batch):
        return batch.images @ self.by[:, None]


def summed(model, batch):
    out = model(batch)
    seen.append(out.dtype)
    return LossOutput(out.sum(), out.sum().detach())


def test_forward_is_the_loss_by_the_models_own_weights():
    module = TrainingModule(Scaled(2.0), summed, precision="fp32", device=CPU)
    module(THREE).objective.backward()
    assert float(module(THREE).loss) == 6.0
    assert float(module.model.by.grad) == 3.0


def test_products_are_in_the_precision_of_the_run():
    kinds = {"fp32": torch.float32, "bf16_mixed": torch.bfloat16}
    for precision, dtype in kinds.items():
        module = TrainingModule(Scaled(2.0), summed, precision=precision, device=CPU)
        module(THREE)
        assert seen[-1] == dtype


def test_the_weights_of_the_model_are_all_that_it_has():
    module = TrainingModule(Scaled(2.0), summed, precision="fp32", device=CPU)
    assert [name for name, _ in module.named_parameters()] == ["model.by"]
