import pytest

from tests.model.test_decoder_only import VARIANTS as DECODERS
from tests.model.test_decoder_only import build as build_decoder
from tests.model.test_encoder_decoder import VARIANTS as ENCODER_DECODERS
from tests.model.test_encoder_decoder import build as build_encoder_decoder
from trimtab.model.roles import role_of
from trimtab.step.groups import parameter_groups

MODELS = [(build_decoder, variant) for variant in DECODERS]
MODELS += [(build_encoder_decoder, variant) for variant in ENCODER_DECODERS]


@pytest.mark.parametrize(
    ("build", "variant"), MODELS, ids=lambda each: getattr(each, "__module__", None) or str(each)
)
def test_every_parameter_has_a_role_and_hidden_matrices_alone_are_decayed(build, variant):
    model = build(**variant)
    decayed, plain = parameter_groups(model)
    for name, parameter in model.named_parameters():
        role = role_of(name)
        assert (name in decayed) == (role == "hidden") == (name not in plain)
        assert (parameter.ndim == 1) == (role == "vector")
        if role in ("embedding", "output"):
            assert parameter.shape[1] == model.config.dim


@pytest.mark.parametrize(
    ("build", "tied", "outputs"),
    [
        (build_decoder, True, 0),
        (build_decoder, False, 1),
        (build_encoder_decoder, "all", 0),
        (build_encoder_decoder, "decoder", 0),
        (build_encoder_decoder, "none", 1),
    ],
)
def test_an_output_that_is_tied_is_an_embedding(build, tied, outputs):
    model = build(tie_embeddings=tied)
    roles = {id(parameter): role_of(name) for name, parameter in model.named_parameters()}
    assert roles[id(model.output_matrix)] == ("output" if outputs else "embedding")
    assert [*roles.values()].count("output") == outputs


def test_an_unknown_part_is_no_silent_role():
    with pytest.raises(KeyError):
        role_of("decoder.blocks.0.attention.extra.weight")
