import lzma
from dataclasses import replace
from importlib.resources import files

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.streams import START, stream_of
from trimtab.config.decoder_model import DECODER_PRESETS, DecoderModel
from trimtab.loss.plain import plain_cross_entropy
from trimtab.loss.terms import Terms
from trimtab.model.decoder_only import DecoderOnly, products_are_bfloat16_on_gpu
from trimtab.step.precision import autocast
from trimtab.types import IGNORE, PackedBatch, Stream

DOCUMENTS = [[20, 21, 3], [22, 23, 24, 25, 3], [26, 3]]
VARIANTS = [
    {},
    {"heads": 4, "kv_heads": 1, "qk_norm": True},
    {"heads": 4, "kv_heads": 2, "rope_theta": 500.0, "tie_embeddings": False},
    {"positions": "learned", "norm": "layer", "bias": True, "activation": "gelu"},
    {"positions": "sinusoidal", "activation": "geglu", "norm_position": "after"},
    {"positions": "none", "activation": "relu", "layers": 3},
    {"prefix": "bidirectional", "residual": "float32"},
]


def config(**changes):
    return DecoderModel(**{"dim": 32, "heads": 2, "layers": 2, "feed_forward": 48, **changes})


def build(num_ids=90, max_positions=32, **changes):
    return DecoderOnly(config(**changes), num_ids=num_ids, max_positions=max_positions, seed=1)


def documents(rows, *, max_seqlen=None):
    """A pack of rows of text."""
    inputs = [[START, *row[:-1]] for row in rows]
    labels = torch.tensor([i for row in rows for i in row])
    nothing = torch.zeros(0, dtype=torch.int64)
    return PackedBatch(
        Stream(nothing, nothing, nothing, torch.zeros(len(rows) + 1, dtype=torch.int32), 1),
        stream_of(inputs, max_seqlen=max_seqlen),
        labels,
        len(rows),
        len(labels),
        len(labels),
    )


def logits(model, rows, **kwargs):
    return (model(documents(rows, **kwargs)) @ model.output_matrix.T)[:, : model.num_ids]


def loss_of(model, pack):
    terms = Terms(model.num_ids, 0.0, 0.0)
    return plain_cross_entropy(model(pack), model.output_matrix, pack.labels, terms)


@pytest.mark.quick("{}", "{'prefix': 'bidirectional', 'residual': 'float32'}")
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_documents_of_a_pack_never_see_each_other(variant):
    model = build(**variant).eval()
    together = logits(model, DOCUMENTS).split([len(row) for row in DOCUMENTS])
    for row, in_pack in zip(DOCUMENTS, together, strict=True):
        torch.testing.assert_close(in_pack, logits(model, [row]), atol=2e-5, rtol=1e-4)
    wide = logits(model, DOCUMENTS, max_seqlen=16)
    torch.testing.assert_close(torch.cat(together), wide, atol=2e-5, rtol=1e-4)


@pytest.mark.slow
@given(
    rows=st.lists(st.lists(st.integers(4, 89), min_size=1, max_size=9), min_size=2, max_size=5),
    data=st.data(),
)
def test_changing_one_document_changes_not_a_bit_of_anothers_logits(rows, data):
    model = build(qk_norm=True).eval()
    which = data.draw(st.integers(0, len(rows) - 1))
    other = [[id + 1 if number == which and id < 89 else id for id in row] for number, row in enumerate(rows)]
    sizes = [len(row) for row in rows]
    before, after = (logits(model, each).split(sizes) for each in (rows, other))
    for number in range(len(rows)):
        if number != which:
            assert torch.equal(before[number], after[number])


def test_a_token_never_sees_those_after_it():
    model = build().eval()
    first, other = (logits(model, [[20, 21, token, 3]]) for token in (22, 30))
    assert torch.equal(first[:3], other[:3])
    assert not torch.equal(first[3], other[3])


@pytest.mark.quick("{}", "{'prefix': 'bidirectional', 'residual': 'float32'}")
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_a_pack_and_rows_apart_have_the_same_loss_and_gradients(variant):
    found = []
    for packs in ([documents(DOCUMENTS)], [documents([row]) for row in DOCUMENTS]):
        model = build(**variant).double()
        losses = [loss_of(model, pack).objective for pack in packs]
        sum(losses).backward()
        found.append((sum(losses).detach(), {n: p.grad for n, p in model.named_parameters()}))
    torch.testing.assert_close(found[0][0], found[1][0])
    assert all(gradient.abs().sum() > 0 for gradient in found[0][1].values())
    torch.testing.assert_close(found[0][1], found[1][1])


def test_the_source_is_not_read_and_may_hold_anything():
    model, pack = build().eval(), documents(DOCUMENTS)
    other = PackedBatch(
        stream_of([[7, 7]] * 3), pack.target, pack.labels, 3, pack.num_targets, pack.num_tokens
    )
    assert torch.equal(model(pack), model(other))


@pytest.mark.slow
def test_the_presets_have_the_sizes_that_they_say():
    with torch.device("meta"):
        sizes = {
            (preset, tied): DecoderOnly(
                DecoderModel(preset=preset, tie_embeddings=tied), num_ids=32000, max_positions=64, seed=1
            ).num_parameters()
            for preset in DECODER_PRESETS
            for tied in (True, False)
        }
    assert [round(sizes[preset, True] / 1e6, 1) for preset in DECODER_PRESETS] == [7.9, 42.1, 341.1, 1298.8]
    assert [round(sizes[preset, False] / 1e6) for preset in ("base", "big")] == [374, 1364]


def test_the_vocabulary_is_padded_and_untied_matrices_are_two():
    tied, untied = build(num_ids=65), build(num_ids=65, tie_embeddings=False)
    assert tied.output_matrix is tied.embedding.weight
    assert untied.output_matrix is untied.output.weight
    assert untied.num_parameters() - tied.num_parameters() == 128 * 32
    assert not any("turns" in name or "sines" in name for name in tied.state_dict())


def test_what_does_not_count_is_read_all_the_same():
    losses = []
    for row in ([22, 23, 24, 25, 3], [22, 23, 77, 25, 3]):
        pack = documents([row])
        pack.labels[:3] = IGNORE
        losses.append(float(loss_of(build(), pack).loss))
    assert losses[0] != losses[1]


def test_only_a_gpu_under_autocast_has_a_narrow_residual_stream():
    assert not products_are_bfloat16_on_gpu(torch.device("cpu"))
    assert not products_are_bfloat16_on_gpu(torch.device("cuda"))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert not products_are_bfloat16_on_gpu(torch.device("cpu"))
        assert build().embed_target(documents(DOCUMENTS).target).dtype == torch.float32


@pytest.mark.slow
def test_packed_and_padded_text_is_learned_by_the_same_curve():
    lines = lzma.decompress(files("trimtab.demo.data").joinpath("train.tsv.xz").read_bytes()).decode()
    rows = [[*line.split("\t")[0].encode()[:60], 3] for line in lines.splitlines()[:40]]
    curves = []
    for together in (True, False):
        model = build(num_ids=256, max_positions=64)
        optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
        curves.append([])
        for step in range(12):
            chosen = rows[10 * (step % 4) :][:10]
            packs = [documents(chosen)] if together else [documents([row], max_seqlen=64) for row in chosen]
            found = [loss_of(model, pack) for pack in packs]
            targets = sum(pack.num_targets for pack in packs)
            (sum(each.objective for each in found) / targets).backward()
            optimizer.step()
            optimizer.zero_grad()
            curves[-1].append(sum(float(each.loss) for each in found) / targets)
    assert curves[0][-1] < curves[0][0] - 1
    torch.testing.assert_close(torch.tensor(curves[0]), torch.tensor(curves[1]), atol=2e-3, rtol=0)


@pytest.mark.parametrize("tied", [True, False])
def test_it_is_transformers_llama_with_the_same_weights(tied):
    transformers = pytest.importorskip("transformers")
    model = build(heads=4, kv_heads=2, rope_theta=500.0, tie_embeddings=tied).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.2 + name.count("norm"))
    llama = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=128,
            hidden_size=32,
            intermediate_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            rms_norm_eps=1e-6,
            rope_theta=500.0,
            rope_parameters={"rope_type": "default", "rope_theta": 500.0},
            tie_word_embeddings=tied,
        )
    ).eval()
    weights = {
        "model.embed_tokens.weight": model.embedding.weight,
        "lm_head.weight": model.output_matrix,
        "model.norm.weight": model.decoder.norm.weight,
    }
    for n, block in enumerate(model.decoder.blocks):
        q, k, v = block.attention.qkv.weight.split([32, 16, 16])
        gate, up = block.feed_forward.up.weight.chunk(2)
        own = {
            "self_attn.q_proj": q,
            "self_attn.k_proj": k,
            "self_attn.v_proj": v,
            "self_attn.o_proj": block.attention.out.weight,
            "mlp.gate_proj": gate,
            "mlp.up_proj": up,
            "mlp.down_proj": block.feed_forward.down.weight,
            "input_layernorm": block.norm_attention.weight,
            "post_attention_layernorm": block.norm_feed_forward.weight,
        }
        weights |= {f"model.layers.{n}.{name}.weight": weight for name, weight in own.items()}
    assert not llama.load_state_dict(weights, strict=False).unexpected_keys
    row = [20, 21, 55, 33, 20, 7, 3]
    with torch.no_grad():
        theirs = llama(torch.tensor([[START, *row[:-1]]])).logits[0, :, :90]
        torch.testing.assert_close(logits(model, [row]), theirs, atol=1e-4, rtol=1e-4)


def gradients_on_gpu(kernel, precision, *, max_seqlen, compiled=False, dtype=torch.float32, **changes):
    cuda = torch.device("cuda")
    model = DecoderOnly(
        DecoderModel(preset="tiny", **changes), num_ids=500, max_positions=max_seqlen, seed=1
    ).to(cuda, dtype)
    model.kernel = kernel
    if compiled:
        model.compile_blocks()
    generator = torch.Generator().manual_seed(0)
    rows = [torch.randint(4, 500, (n,), generator=generator).tolist() for n in (5, 40, 17, 60, 1, 33)]
    pack = documents(rows, max_seqlen=max_seqlen)
    prefix = torch.tensor([3, 40, 0, 17, 1, 20], dtype=torch.int32)
    pack = replace(pack, target=replace(pack.target, prefix=prefix)).to(cuda)
    with autocast(precision, cuda):
        out = loss_of(model, pack)
    out.objective.backward()
    return out.objective.double(), torch.cat([p.grad.double().flatten() for p in model.parameters()])


@pytest.mark.gpu
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("max_seqlen", [64, 2048], ids=["tiles", "flash"])
@pytest.mark.parametrize(
    "variant",
    [{}, {"qk_norm": True, "kv_heads": 1}, {"prefix": "bidirectional", "residual": "float32"}],
    ids=str,
)
def test_packs_in_bf16_err_no_more_than_padded_rows_in_bf16(variant, max_seqlen, compiled):
    # Padded rows of 64 slots hold the same segments as those of 2048, and fit into memory.
    truth = gradients_on_gpu("padded", "fp32", max_seqlen=64, dtype=torch.float64, **variant)
    slow = gradients_on_gpu("padded", "bf16_mixed", max_seqlen=64, **variant)
    fast = gradients_on_gpu("varlen", "bf16_mixed", max_seqlen=max_seqlen, compiled=compiled, **variant)
    for exact, obvious, ours in zip(truth, slow, fast, strict=True):
        scale = exact.norm()
        assert (ours - exact).norm() / scale <= 1.1 * (obvious - exact).norm() / scale + 1e-3


@pytest.mark.gpu
def test_under_autocast_the_residual_stream_is_as_the_recipe_says():
    cuda = torch.device("cuda")
    for residual, dtype in (("half", torch.bfloat16), ("float32", torch.float32)):
        model, seen = build(residual=residual).to(cuda), []
        for block in model.decoder.blocks:
            block.register_forward_hook(lambda _, __, out, seen=seen: seen.append(out.dtype))
        with autocast("bf16_mixed", cuda):
            model(documents(DOCUMENTS).to(cuda))
        assert set(seen) == {dtype}
