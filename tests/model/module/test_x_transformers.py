"""x-transformers as a model, and as the oracle of trimtab's own parts: equal outputs by equal weights."""

import math
import re
import shutil
from types import SimpleNamespace

import pytest
import torch

import trimtab
from tests.for_each import for_each
from tests.language_run import language_recipe
from tests.model.test_decoder_only import build as own_decoder
from tests.model.test_decoder_only import documents
from tests.model.test_encoder_decoder import SOURCES, TARGETS
from tests.model.test_encoder_decoder import build as own_translator
from tests.small_run import small_recipe
from tests.streams import pack_of
from trimtab.config import x_transformers_options
from trimtab.config.x_transformers_model import XTransformersModel
from trimtab.config.x_transformers_options import known_options
from trimtab.errors import InputError
from trimtab.inference.load import load_model
from trimtab.model.module.x_transformers import XDecoder, XTranslator, new_stacks

ROWS = [[20, 21, 3], list(range(22, 40)), [26, 3]]
PLAIN = {"attn_dim_head": 16, "ff_no_bias": True, "use_abs_pos_emb": False, "ff_mult": 1.5}
PARTS = [
    ({"positions": "none"}, {}),
    ({"positions": "rotary"}, {"rotary_pos_emb": True, "rotary_emb_dim": 16}),
    ({"positions": "alibi"}, {"alibi_pos_bias": True}),
    ({"positions": "t5"}, {"rel_pos_bias": True}),
    ({"positions": "learned"}, {"use_abs_pos_emb": True}),
    ({"norm_position": "after"}, {"pre_norm": False}),
    ({"norm_position": "sandwich"}, {"sandwich_norm": True}),
    ({"rezero": True}, {"use_layerscale": True}),
    ({"qk_norm": True}, {"attn_qk_rmsnorm": True}),
    ({"norm": "rms"}, {"use_rmsnorm": True}),
    ({"activation": "geglu"}, {"ff_glu": True}),
    ({"activation": "silu"}, {"ff_swish": True}),
    ({"heads": 4, "kv_heads": 2}, {"attn_kv_heads": 2, "attn_dim_head": 8}),
]


def x_model(**changes):
    return XTransformersModel(**{"dim": 32, "heads": 2, "layers": 2, "tie_embeddings": False, **changes})


def x_decoder(num_ids=90, **options):
    heads = options.pop("heads", 2)
    config = x_model(heads=heads, options={**PLAIN, **options})
    return XDecoder(config, num_ids=num_ids, max_positions=32, pad=0, seed=1)


def scattered(model):
    """Numbers other than the first ones in every weight, so that none is without effect; norms of x-transformers have
    no biases."""
    torch.manual_seed(3)
    for name, weight in model.named_parameters():
        is_bias = "norm" in name and name.endswith("bias")
        weight.data = torch.zeros_like(weight) if is_bias else weight + 0.1 * torch.randn_like(weight)
    return model.eval()


@torch.no_grad()
def copy_weights(theirs, *, stack, table, positions, interleaved):
    """Puts the weights of a stack of trimtab's into a `TransformerWrapper`, whose gains are kept minus one, and whose
    rotary pairs lie side by side."""
    theirs.token_emb.emb.weight.copy_(table[: len(theirs.token_emb.emb.weight)])
    layers = iter(theirs.attn_layers.layers)
    for block in stack.blocks:
        copy_attention(block.attention, next_layer(layers, block.norm_attention), interleaved=interleaved)
        if getattr(block, "cross", None) is not None:
            cross = next_layer(layers, block.norm_cross)
            cross.to_q.weight.copy_(block.cross.q.weight)
            keys, values = block.cross.kv.weight.chunk(2)
            cross.to_k.weight.copy_(keys)
            cross.to_v.weight.copy_(values)
            cross.to_out.weight.copy_(block.cross.out.weight)
        copy_feed_forward(block.feed_forward, next_layer(layers, block.norm_feed_forward))
    if [*theirs.attn_layers.final_norm.parameters()]:
        copy_norm(stack.norm, theirs.attn_layers.final_norm)
    if hasattr(positions, "weight"):
        if (bias := theirs.attn_layers.rel_pos) is not None:
            bias.relative_attention_bias.weight.copy_(positions.weight / bias.scale)
        else:
            theirs.pos_emb.emb.weight.copy_(positions.weight / theirs.pos_emb.scale)


def copy_norm(own, theirs):
    next(theirs.parameters()).copy_(own.weight - 1)


def next_layer(layers, norm):
    """The next sub-layer, which gets these norms."""
    (before, behind, after), layer, _ = next(layers)
    first, last = getattr(norm, "first", norm), getattr(norm, "last", None)
    copy_norm(first, after if before is None else before)
    if last is not None:
        copy_norm(last, behind)
    if getattr(norm, "gain", None) is not None:
        layer.gamma.fill_(norm.gain.item() - 1)
        return layer.fn
    return layer


def copy_attention(own, theirs, *, interleaved):
    heads, shared, size = own.heads, own.kv_heads, own.size
    parts = own.qkv.weight.view(heads + 2 * shared, size, -1)
    order = torch.arange(size).view(2, -1).T.flatten() if interleaved else torch.arange(size)
    queries, keys, values = parts.split([heads, shared, shared])
    # Head j reads keys j modulo their heads there, and here those of its group of neighbours.
    places = torch.arange(heads).view(shared, -1).T.flatten()
    theirs.to_q.weight.copy_(queries[places][:, order].flatten(0, 1))
    theirs.to_k.weight.copy_(keys[:, order].flatten(0, 1))
    theirs.to_v.weight.copy_(values.flatten(0, 1))
    theirs.to_out.weight.copy_(own.out.weight.view(-1, heads, size)[:, places].flatten(1))
    if own.norm_queries is not None:
        theirs.q_rmsnorm.gamma.copy_((own.norm_queries.weight - 1).expand_as(theirs.q_rmsnorm.gamma))
        theirs.k_rmsnorm.gamma.copy_((own.norm_keys.weight - 1).expand_as(theirs.k_rmsnorm.gamma))


def copy_feed_forward(own, theirs):
    first = theirs.ff[0]
    if hasattr(first, "proj"):  # a gate, which stands second there and always has a bias
        gate, up = own.up.weight.chunk(2)
        first.proj.weight.copy_(torch.cat([up, gate]))
        first.proj.bias.zero_()
    else:
        first[0].weight.copy_(own.up.weight)
    theirs.ff[2].weight.copy_(own.down.weight)


def equal_by_equal_weights(changes, options):
    usual = {
        "positions": "none",
        "norm": "layer",
        "activation": "gelu",
        "bias": False,
        "tie_embeddings": False,
    }
    own = scattered(own_decoder(**{**usual, **changes}))
    theirs = x_decoder(heads=changes.get("heads", 2), **options).eval()
    copy_weights(
        theirs.network.decoder,
        stack=own.decoder,
        table=own.embedding.weight,
        positions=own.target_positions,
        interleaved=changes.get("positions") == "rotary",
    )
    batch = documents(ROWS)
    # RMSNorm of x-transformers adds nothing before the root.
    torch.testing.assert_close(theirs(batch), own(batch), rtol=1e-3, atol=1e-3)


@pytest.mark.slow
@for_each("part", PARTS)
def test_x_transformers_computes_what_each_of_our_parts_computes(part):
    equal_by_equal_weights(*part)


@pytest.mark.slow
def test_x_transformers_computes_what_our_encoder_and_decoder_compute():
    own = scattered(own_translator(positions="t5", decoder_positions="alibi", bias=False, activation="gelu"))
    theirs = translator(
        encoder_options={"rel_pos_bias": True}, decoder_options={"alibi_pos_bias": True}, options=PLAIN
    ).eval()
    for name, positions in (("encoder", own.source_positions), ("decoder", own.target_positions)):
        copy_weights(
            getattr(theirs.network, name),
            stack=getattr(own, name),
            table=own.embedding.weight * own.dim**0.5,  # a translator scales its embeddings up
            positions=positions,
            interleaved=False,
        )
    batch = pack_of(SOURCES, TARGETS)
    torch.testing.assert_close(theirs(batch), own(batch), rtol=1e-4, atol=1e-4)


def translator(**changes):
    config = x_model(encoder_layers=2, **changes)
    return XTranslator(config, num_ids=90, num_source_ids=90, max_positions=32, pad=0, seed=1)


@pytest.mark.slow
@for_each(
    "options",
    [{}, {"num_memory_tokens": 2}, {"rotary_xpos": True}, {"shift_tokens": 1, "attn_qk_norm": True}],
)
def test_a_row_is_computed_as_if_it_were_alone(options):
    model = x_decoder(**options).eval()
    together = model(documents(ROWS))
    alone = torch.cat([model(documents([row])) for row in ROWS])
    torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_first_weights_follow_from_the_seed_and_a_narrow_copy_keeps_its_angles():
    one, other = x_decoder(rotary_pos_emb=True), x_decoder(rotary_pos_emb=True)
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))
    narrow = one.eval().half_precision_copy(torch.bfloat16)
    angles = narrow.network.decoder.attn_layers.rotary_pos_emb.inv_freq
    assert angles.dtype == torch.float32
    batch = documents(ROWS)
    assert narrow(batch).dtype == torch.bfloat16
    torch.testing.assert_close(narrow(batch).float(), one(batch), rtol=0.1, atol=0.1)
    assert one.role_of("network.decoder.to_logits.weight") == "output"
    assert one.role_of("network.decoder.token_emb.emb.weight") == "embedding"


def problem_of_an_installation(monkeypatch, *, source, made):
    spec = None if source is None else SimpleNamespace(origin=str(source))
    monkeypatch.setattr(x_transformers_options, "find_spec", lambda name: spec)
    known_options.cache_clear()
    try:
        with pytest.raises(InputError) as found:
            new_stacks(made, options={}, seed=0)
    finally:
        known_options.cache_clear()
    return str(found.value)


def test_a_missing_a_broken_and_an_unknown_installation_are_told_apart(tmp_path, monkeypatch):
    def made():
        raise ModuleNotFoundError("No module named 'einx'")

    missing = problem_of_an_installation(monkeypatch, source=None, made=made)
    assert "an environment without it" in missing
    source = tmp_path / "__init__.py"
    source.touch()
    (tmp_path / "x_transformers.py").write_text("class Transformer: ...")
    unknown = problem_of_an_installation(monkeypatch, source=source, made=made)
    assert re.search(r"version \d+\.\d+\S*, whose source has other classes", unknown)
    names = ("TransformerWrapper", "AttentionLayers", "Attention", "FeedForward")
    classes = [f"class {name}:\n    def __init__(self, {name.lower()}): ...\n" for name in names]
    (tmp_path / "x_transformers.py").write_text("".join(classes))
    broken = problem_of_an_installation(monkeypatch, source=source, made=made)
    assert "ModuleNotFoundError: No module named 'einx'" in broken
    assert "cannot import what it needs" in broken
    assert "options" not in broken


@pytest.mark.slow
def test_options_that_do_not_fit_each_other_are_an_error_of_the_recipe():
    with pytest.raises(InputError, match="cannot build or run") as found:
        x_decoder(alibi_pos_bias=True, rel_pos_bias=True)
    assert "Alibi" in str(found.value)


@pytest.mark.slow
def test_a_translator_trains_resumes_to_the_same_weights_and_scores(tmp_path):
    changes = {
        "model": {
            **x_model(encoder_layers=1, layers=1).model_dump(),
            "dropout": 0.1,
            "options": {"ff_glu": True},
        },
        "checkpoint.every": "10 steps",
        "length": "20 steps",
        "evaluate.metrics": ["chrf"],
    }
    recipe = small_recipe(tmp_path, **changes)
    whole = trimtab.train(recipe, out=tmp_path / "whole").run
    trimtab.train(recipe, out=tmp_path / "parts")
    shutil.rmtree(tmp_path / "parts" / "checkpoints" / "step-00000020")
    parts = trimtab.train(recipe, out=tmp_path / "parts", resume=True).run
    one, other = (load_model(f"{run}@last").model.state_dict() for run in (whole, parts))
    assert all(torch.equal(one[name], other[name]) for name in one)
    found = trimtab.evaluate(whole, source=tmp_path / "dev.en", reference=tmp_path / "dev.de")
    assert found.lines == 24
    assert found.loss < math.log(66)
    with pytest.raises(InputError, match="models of x-transformers"):
        trimtab.export_model(whole, to="hf", out=tmp_path / "hf")


@pytest.mark.slow
def test_a_language_model_trains_and_generates(tmp_path):
    model = x_model(layers=1, tie_embeddings=True, options={"num_memory_tokens": 2}).model_dump()
    run = trimtab.train(language_recipe(tmp_path, model=model, length="10 steps"), out=tmp_path / "run").run
    (text,) = trimtab.generate(run, ["one"], max_tokens=5)
    assert 0 < text.num_tokens <= 5
