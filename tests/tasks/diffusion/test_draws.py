import numpy as np
import torch

from trimtab.data.order import stream_keys, uniform
from trimtab.tasks.diffusion.draws import normals


def keys_of(count, *, seed=1):
    return torch.from_numpy(stream_keys(seed, np.arange(count)).view(np.int64))


def test_numbers_are_box_and_muller_of_the_words_that_the_host_draws():
    keys = stream_keys(3, np.arange(5))
    words = (uniform(keys[:, None], np.arange(4)) * 2**53).astype(np.uint64) << np.uint64(11)
    first = ((words >> np.uint64(40)).astype(float) + 0.5) / 2**24
    second = ((words >> np.uint64(16)) & np.uint64(2**24 - 1)).astype(float) / 2**24
    radius, angle = np.sqrt(-2 * np.log(first)), 2 * np.pi * second
    slow = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1).reshape(5, 8)
    found = normals(torch.from_numpy(keys.view(np.int64)), 8)
    assert found.dtype == torch.float32
    np.testing.assert_allclose(found.numpy(), slow, atol=2e-5)


def test_they_have_the_moments_of_a_normal_distribution_and_no_correlation():
    found = normals(keys_of(2000), 101).double()
    assert abs(float(found.mean())) < 0.01
    assert abs(float(found.var()) - 1) < 0.01
    assert abs(float((found**4).mean()) - 3) < 0.1
    between_places = np.corrcoef(found.numpy().T)
    assert np.abs(between_places - np.eye(101)).max() < 0.12
    assert abs(float((found[1:] * found[:-1]).mean())) < 0.01


def test_an_image_has_the_same_noise_in_any_batch_and_of_any_length():
    whole = normals(keys_of(6), 9)
    assert torch.equal(normals(keys_of(6)[2:3], 9), whole[2:3])
    assert torch.equal(normals(keys_of(6), 4), whole[:, :4])
    assert not torch.equal(normals(keys_of(6, seed=2), 9), whole)
