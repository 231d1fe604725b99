import torch

from trimtab.inference.ready import prepare_for_inference


def test_on_a_cpu_the_very_model_is_put_into_evaluation_mode_in_its_own_precision():
    model = torch.nn.Linear(2, 2).train()
    ready = prepare_for_inference(torch.device("cpu"), model, kernel="varlen")
    assert ready is model
    assert not ready.training
    assert ready.weight.dtype == torch.float32
