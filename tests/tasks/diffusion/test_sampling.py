import numpy as np
import torch

from trimtab.config.diffusion_model import Sampling
from trimtab.tasks.diffusion import sampling
from trimtab.tasks.diffusion.sampling import SampleRequest, sampled


def test_images_are_the_same_in_batches_of_any_size(parts, monkeypatch):
    wanted = SampleRequest(np.array([0, 1, 2, 0, 1], np.int64), np.arange(5, dtype=np.uint64))
    given = {"settings": Sampling(steps=2), "device": torch.device("cpu")}
    whole = sampled(parts.model, wanted, **given)
    monkeypatch.setattr(sampling, "IMAGES_AT_ONCE", {"cpu": 2})
    again = sampled(parts.model, wanted, **given)
    assert whole.shape == again.shape == (5, 16, 16, 1)
    assert np.abs(whole.astype(int) - again).max() <= 1
