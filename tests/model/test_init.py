import pytest
import torch

from trimtab.config.decoder_model import DecoderModel
from trimtab.config.model import EncoderDecoderModel
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.init import init_weights, without_first_weights
from trimtab.model.kinds import model_of


def build(seed=1, **changes):
    return EncoderDecoder(
        EncoderDecoderModel(preset="tiny", **changes), num_ids=90, max_positions=32, seed=seed
    )


def test_the_same_seed_gives_the_same_weights_whatever_the_global_generator_did():
    torch.manual_seed(0)
    first = build()
    torch.manual_seed(5)
    second, third = build(), build(seed=2)
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))
    assert not torch.equal(first.embedding.weight, third.embedding.weight)


def test_every_parameter_is_filled():
    model = build(positions="learned", tie_embeddings="decoder", activation="swiglu")
    for parameter in model.parameters():
        parameter.data.fill_(torch.nan)
    for module in model.modules():
        if isinstance(module, torch.nn.LayerNorm):
            module.reset_parameters()  # gains and biases of norms have their values from PyTorch
    init_weights(model, model.config, seed=1)
    assert all(parameter.isfinite().all() for parameter in model.parameters())


def test_maps_that_write_to_the_residual_path_are_smaller_with_the_norm_before():
    before, after = build(), build(norm_position="after")
    ratio = (
        before.decoder.blocks[0].feed_forward.down.weight.std()
        / after.decoder.blocks[0].feed_forward.down.weight.std()
    )
    assert torch.isclose(ratio, torch.tensor(6.0).rsqrt(), rtol=1e-3)


def test_keys_and_values_begin_as_large_however_many_heads_they_have():
    whole, grouped = build(heads=6), build(heads=6, kv_heads=1)
    for map_of in (lambda block: block.attention.qkv, lambda block: block.cross.kv):
        ratio = map_of(grouped.decoder.blocks[0]).weight.std() / map_of(whole.decoder.blocks[0]).weight.std()
        assert torch.isclose(ratio, torch.tensor(1.0), rtol=0.02)


@pytest.fixture
def memory_is_nan():
    """Memory that nothing fills holds NaN."""
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize(
    "config",
    [
        EncoderDecoderModel(preset="tiny", positions="learned", tie_embeddings="none", activation="swiglu"),
        EncoderDecoderModel(preset="tiny", positions="t5", norm_position="after"),
        DecoderModel(preset="tiny", positions="rotary", qk_norm=True, tie_embeddings=False),
        DecoderModel(preset="tiny", positions="alibi", mup_base_dim=64),
    ],
    ids=lambda config: f"{config.kind} {config.positions}",
)
def test_a_model_without_first_weights_is_the_same_once_it_has_read_those_of_another(config, memory_is_nan):
    sizes = {"num_ids": 90, "num_source_ids": 90, "max_positions": 32}
    whole = model_of(config, **sizes, seed=1)
    with without_first_weights():
        empty = model_of(config, **sizes, seed=1)
    matrices = [each for each in empty.parameters() if each.ndim > 1]
    assert all(each.isnan().all() for each in matrices), "nothing was drawn"
    empty.load_state_dict(whole.state_dict())
    for (name, one), other in zip(whole.state_dict().items(), empty.state_dict().values(), strict=True):
        assert torch.equal(one, other), name
    for (name, one), (_, other) in zip(whole.named_buffers(), empty.named_buffers(), strict=True):
        assert torch.equal(one, other), name  # those that no state holds too
    after = model_of(config, **sizes, seed=1)
    assert all(torch.equal(a, b) for a, b in zip(whole.parameters(), after.parameters(), strict=True))
