import math

import pytest
import torch

from tests.model.test_decoder_only import VARIANTS, build, documents, loss_of
from trimtab.model.decoder_init import first_std


@pytest.mark.parametrize("variant", [*VARIANTS, {"dim": 192, "norm_position": "after"}], ids=str)
def test_the_first_loss_is_near_the_logarithm_of_the_vocabulary(variant):
    model = build(num_ids=500, **variant)
    generator = torch.Generator().manual_seed(0)
    pack = documents([torch.randint(4, 500, (12,), generator=generator).tolist() for _ in range(16)])
    assert abs(float(loss_of(model, pack).loss) / pack.num_targets - math.log(500)) < 0.1 * math.log(500)


def test_maps_that_write_to_the_residual_path_begin_smaller_the_deeper_the_model_is():
    shallow, deep = (build(dim=192, layers=layers) for layers in (2, 8))
    for part in ("attention.out", "feed_forward.down"):
        weights = [model.decoder.blocks[0].get_submodule(part).weight for model in (shallow, deep)]
        assert abs(float(weights[0].detach().std() / weights[1].detach().std()) - 2) < 0.1
    assert abs(float(deep.embedding.weight.detach().std()) - math.sqrt(2 / (5 * 192))) < 1e-3


def test_the_same_seed_gives_the_same_weights():
    one, same = build().state_dict(), build().state_dict()
    assert all(torch.equal(one[name], same[name]) for name in one)


def test_biases_begin_at_zero_and_embeddings_with_the_spread_that_is_said():
    model = build(dim=192, bias=True)
    assert not any(p.any() for name, p in model.named_parameters() if name.endswith("out.bias"))
    assert abs(float(model.embedding.weight.detach().std()) / first_std(model.config) - 1) < 0.05
