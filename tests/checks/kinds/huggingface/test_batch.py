import pytest

from tests.checks.kinds.describing import words, written
from tests.for_each import for_each
from trimtab.checks.kinds.huggingface.batch import put_batch, put_data, put_loss


@for_each(
    ("settings", "told"),
    [
        ({"per_device_train_batch_size": 4}, {"micro_batch": 4, "batch_unit": "examples"}),
        ({"per_gpu_train_batch_size": 2}, {"micro_batch": 2, "batch_unit": "examples"}),
        ({"max_steps": 10, "num_train_epochs": 2}, {"steps": 10}),
        ({"max_steps": 0, "num_train_epochs": 2}, {"epochs": 2.0}),
        ({"num_train_epochs": 2}, {}),
        ({"group_by_length": True}, {"group_by_length": True}),
        ({"train_sampling_strategy": "group_by_length"}, {"group_by_length": True}),
        ({"train_sampling_strategy": "random"}, {"group_by_length": False}),
        ({"gradient_accumulation_steps": "auto"}, {}),
    ],
)
def test_the_size_of_a_step_is_told(settings, told):
    found = {}
    put_batch(found, written(**settings))
    assert words(found) == told


def test_the_loss_is_told():
    found = {}
    put_loss(found, written(label_smoothing_factor=0.1, neftune_noise_alpha=None, use_liger_kernel=True))
    assert words(found) == {"label_smoothing": 0.1, "fused_loss": "liger"}


@pytest.mark.parametrize("switch", ["use_cpu", "no_cuda"])
def test_memory_is_not_pinned_without_a_gpu(switch):
    found = {}
    put_data(found, written(dataloader_pin_memory=True, **{switch: True}))
    assert words(found) == {"pin_memory": False}
