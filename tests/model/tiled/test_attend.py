import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.checkpoint import checkpoint

from tests.model.tiled.where import DEVICE, exact, layout, made, padded, results
from trimtab.model.attention_padded import attend_padded
from trimtab.model.tiled.attend import attend_op, attend_tiled

pytestmark = pytest.mark.gpu if DEVICE.type == "cuda" else []

pairs = st.lists(st.tuples(st.integers(0, 70), st.integers(0, 70)), min_size=1, max_size=4)


def close(found, truth):
    for one, other in zip(found, truth, strict=True):
        # A GPU multiplies float32 in TensorFloat-32.
        bound = 1e-2 if DEVICE.type == "cuda" else 1e-5
        torch.testing.assert_close(one.double(), other, rtol=bound, atol=bound)


@given(pairs, st.booleans(), st.sampled_from([(1, 1), (2, 1)]))
def test_it_equals_attention_written_out_for_each_segment_also_empty_ones(lengths, causal, heads):
    lengths = [*lengths, (3, 5)]
    of = layout([a for a, _ in lengths])
    to = of if causal else layout([b for _, b in lengths])
    inputs, weight = made(of, to, heads=heads[0], kv_heads=heads[1])
    close(
        results(attend_tiled, inputs, weight, of, to, causal=causal),
        exact(inputs, weight, of, to, causal=causal),
    )


def test_several_groups_of_heads_share_their_own_keys_only():
    of, to = layout([3, 9]), layout([7, 2])
    inputs, weight = made(of, to, heads=4, kv_heads=2)
    close(
        results(attend_tiled, inputs, weight, of, to, causal=False),
        exact(inputs, weight, of, to, causal=False),
    )


@pytest.mark.parametrize("size", [32, 64, 128])
@pytest.mark.parametrize("call", ["encoder", "decoder", "cross"])
def test_half_precision_errs_little_more_than_padded_rows_in_the_same(call, size):
    # Interpreted, Triton multiplies no bfloat16.
    half = torch.bfloat16 if DEVICE.type == "cuda" else torch.float16
    generator = torch.Generator().manual_seed(0)
    lengths = torch.randint(1, 60, (2, 8), generator=generator).tolist()
    of, to = layout(lengths[0]), layout(lengths[0 if call != "cross" else 1])
    inputs, weight = made(of, to, heads=2, kv_heads=2, size=size, dtype=half)
    words = {"of": of, "to": to, "causal": call == "decoder"}
    truth = exact(inputs, weight.to(half), **words)
    fast = results(attend_tiled, inputs, weight, **words)
    slow = results(attend_padded, inputs, weight, **{**words, "of": padded(of), "to": padded(to)})
    for one, other, double in zip(fast, slow, truth, strict=True):
        assert (one.double() - double).norm() <= 1.5 * (other.double() - double).norm() + 1e-4 * double.norm()


@pytest.mark.parametrize("causal", [False, True])
def test_segments_longer_than_several_tiles_and_a_tail_of_empty_ones(causal):
    of = layout([200, 1, 63, 64, 65, 0, 0, 0])
    inputs, weight = made(of, of, heads=1, kv_heads=1)
    close(
        results(attend_tiled, inputs, weight, of, of, causal=causal),
        exact(inputs, weight, of, of, causal=causal),
    )


def test_a_target_without_a_source_gets_zeros_and_gives_none():
    of, to = layout([5, 40, 7]), layout([30, 0, 9])
    inputs, weight = made(of, to, heads=2, kv_heads=2)
    out, of_queries, *others = results(attend_tiled, inputs, weight, of, to, causal=False)
    assert (out[5:45] == 0).all()
    assert (of_queries[5:45] == 0).all()
    assert all(x.isfinite().all() for x in (out, of_queries, *others))


def test_other_segments_may_hold_anything_at_all():
    of = layout([40, 30, 20])
    inputs, weight = made(of, of, heads=2, kv_heads=2)
    whole = results(attend_tiled, inputs, weight, of, of, causal=True)
    with torch.no_grad():
        for x in inputs:
            x[:40], x[70:] = 300.0, -300.0
    changed = results(attend_tiled, inputs, weight, of, of, causal=True)
    for one, other in zip(whole, changed, strict=True):
        assert torch.equal(one[40:70], other[40:70])


def test_two_runs_give_the_same_bits():
    of = layout([17] * 8)
    inputs, weight = made(of, of, heads=2, kv_heads=1)
    first, second = (results(attend_tiled, inputs, weight, of, of, causal=True) for _ in range(2))
    assert all(torch.equal(one, other) for one, other in zip(first, second, strict=True))


def test_a_gradient_that_is_one_number_for_all_is_taken_too():
    of = layout([9, 30])
    inputs, weight = made(of, of, heads=2, kv_heads=2)
    out = attend_tiled(*inputs, of=of, to=of, causal=False)
    found = torch.autograd.grad(out.sum(), inputs)
    close(found, exact(inputs, torch.ones_like(weight), of, of, causal=False)[1:])


@pytest.mark.parametrize("causal", [False, True])
def test_it_is_an_operator_that_torch_can_compile_with_its_gradient(causal):
    of = layout([9, 30])
    inputs, _ = made(of, of, heads=2, kv_heads=1)
    tests = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_static")
    torch.library.opcheck(attend_op, (*inputs, of.spans, of.spans, causal), test_utils=tests)


def test_a_compiled_graph_has_no_break():
    of = layout([9, 30])
    inputs, weight = made(of, of, heads=2, kv_heads=2)

    def around(q, k, v, of, to, causal):
        # Not `attend_tiled`: in tests beartype stands around it, which torch cannot trace.
        return attend_op(q * 2, k, v, of.spans, to.spans, causal)[0] + 1

    compiled = torch.compile(around, fullgraph=True, backend="aot_eager")
    plain = results(around, inputs, weight, of, of, causal=True)
    found = results(compiled, inputs, weight, of, of, causal=True)
    assert all(torch.equal(one, other) for one, other in zip(plain, found, strict=True))


def test_a_segment_that_is_computed_again_for_the_backward_pass_has_the_same_gradients():
    of = layout([9, 30])
    inputs, weight = made(of, of, heads=1, kv_heads=1)

    def again(*tensors, **words):
        return checkpoint(attend_tiled, *tensors, use_reentrant=False, **words)

    once, twice = (results(kernel, inputs, weight, of, of, causal=True) for kernel in (attend_tiled, again))
    assert all(torch.equal(one, other) for one, other in zip(once, twice, strict=True))


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_without_gradients_the_numbers_are_the_same(mode):
    of = layout([9, 30])
    inputs, _ = made(of, of, heads=1, kv_heads=1)
    with mode():
        found = attend_tiled(*inputs, of=of, to=of, causal=True)
    assert not found.requires_grad
    assert torch.equal(found, attend_tiled(*inputs, of=of, to=of, causal=True))


def test_a_gradient_of_a_gradient_is_refused_by_name():
    of = layout([5])
    inputs, _ = made(of, of, heads=1, kv_heads=1)
    out = attend_tiled(*inputs, of=of, to=of, causal=False)
    (first,) = torch.autograd.grad(out.square().sum(), inputs[:1], create_graph=True)
    with pytest.raises(RuntimeError, match="attend_tiled_backward"):
        torch.autograd.grad(first.sum(), inputs[:1])
