import pytest
import torch
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM

from tests.for_each import for_each
from tests.model.test_decoder_only import VARIANTS as DECODERS
from tests.model.test_decoder_only import build as build_decoder
from tests.model.test_encoder_decoder import ALL as ENCODER_DECODERS
from tests.model.test_encoder_decoder import build as build_encoder_decoder
from tests.streams import pack_of
from trimtab.config.loss import CrossEntropyLoss
from trimtab.loss.build import build_loss
from trimtab.model.roles import role_in, role_of
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
        if role in ("embedding", "output") and "positions" not in name:  # T5 has a number for each head
            assert parameter.shape[1] == model.config.dim


@for_each(
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


@for_each(
    ("name", "role"),
    [
        ("model.layers.0.self_attn.q_proj.lora_A.default.weight", "hidden"),
        ("model.layers.0.self_attn.q_proj.lora_B.default.weight", "lora_b"),
        ("model.embed_tokens.lora_embedding_A.default", "embedding"),
        ("model.layers.0.mlp.gate.weight", "hidden"),
        ("model.layers.0.mlp.router.weight", "hidden"),
        ("model.layers.0.input_layernorm.weight", "vector"),
        ("transformer.h.0.ln_1.weight", "vector"),
        ("transformer.h.0.attn.c_attn.bias", "vector"),
        ("transformer.wte.weight", "embedding"),
        ("bert.embeddings.position_embeddings.weight", "embedding"),
        ("bert.encoder.layer.0.output.dense.weight", "hidden"),
        ("lm_head.weight", "output"),
        ("cls_token", "embedding"),
        ("decoder.blocks.0.attention.extra.weight", "hidden"),
    ],
)
def test_a_name_alone_gives_a_sensible_role(name, role):
    assert role_of(name) == role


def test_the_kind_of_a_module_decides_before_its_name_does():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.lookup, self.embedder = nn.Embedding(5, 4), nn.Linear(4, 4)
            self.first, self.patches = nn.LayerNorm(4), nn.Conv2d(3, 4, 2)
            self.scale = nn.Parameter(torch.ones(4))

    roles = {name: role_in(Net(), name) for name, _ in Net().named_parameters()}
    assert roles == {
        "scale": "vector",
        "lookup.weight": "embedding",
        "embedder.weight": "hidden",
        "embedder.bias": "vector",
        "first.weight": "vector",
        "first.bias": "vector",
        "patches.weight": "hidden",
        "patches.bias": "vector",
    }


def test_the_names_of_a_hugging_face_model_with_tied_embeddings_have_roles():
    config = LlamaConfig(
        vocab_size=64,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        tie_word_embeddings=True,
    )
    model = LlamaForCausalLM(config)
    decayed, _ = parameter_groups(model)
    for name, parameter in model.named_parameters():
        role = role_in(model, name)
        assert role == role_of(name)
        assert (role == "hidden") == (name in decayed)
        assert (role == "vector") == (parameter.ndim == 1)
    assert role_in(model, "model.embed_tokens.weight") == "embedding"


@pytest.mark.parametrize("build", [build_decoder, build_encoder_decoder])
def test_weights_that_are_frozen_take_no_gradient_no_decay_and_change_nothing(build):
    model, whole = build(), build()
    frozen = [name for name, _ in model.named_parameters() if "feed_forward" in name or "embed" in name]
    for name in frozen:
        model.get_parameter(name).requires_grad_(False)
    pack = pack_of([[4, 5, 3]], [[6, 7, 3]])
    loss = build_loss(CrossEntropyLoss(), num_ids=model.num_ids, device=torch.device("cpu"))
    for each in (model, whole):
        loss(each.train()(pack), each.output_matrix, pack.labels).objective.backward()
    for name, parameter in model.named_parameters():
        assert (parameter.grad is None) == (name in frozen)
        if parameter.grad is not None:
            torch.testing.assert_close(parameter.grad, whole.get_parameter(name).grad)
    decayed, plain = parameter_groups(model)
    assert not {*decayed, *plain} & {*frozen}
