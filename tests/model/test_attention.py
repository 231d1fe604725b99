import subprocess
import sys

import pytest
import torch

from tests.children import printed
from tests.model.test_attention_padded import naive
from tests.streams import stream_of
from trimtab.model import attention
from trimtab.model.attention import attend
from trimtab.model.sequence_layout import sequence_layout, spans_of
from trimtab.model.tiled.attend import fits_tiles
from trimtab.model.tiled.tiles import TILES

ROWS = [[1] * 4, [1] * 2]


def made(*, padded):
    generator = torch.Generator().manual_seed(0)
    tensors = [torch.randn(6, 2, 8, generator=generator) for _ in range(3)]
    return tensors, sequence_layout(stream_of(ROWS), padded=padded)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("padded", "chosen"), [(True, "attend_padded"), (False, "attend_varlen")])
def test_the_layout_chooses_the_kernel_and_everything_is_handed_on(monkeypatch, padded, chosen, causal):
    tensors, layout = made(padded=padded)
    calls = []

    def kernel(name):
        def run(*arguments, **words):
            calls.append((name, arguments, words))
            return arguments[2]

        return run

    for name in ("attend_padded", "attend_varlen"):
        monkeypatch.setattr(attention, name, kernel(name))
    assert attend(*tensors, of=layout, to=layout, causal=causal) is tensors[2]
    ((name, arguments, words),) = calls
    assert name == chosen
    assert all(one is other for one, other in zip(arguments, tensors, strict=True))
    assert words == {"of": layout, "to": layout, "causal": causal} | ({"bias": None} if padded else {})


def test_kernels_without_a_bias_refuse_one_by_name():
    tensors, layout = made(padded=False)
    with pytest.raises(ValueError, match="flat kernels"):
        attend(*tensors, of=layout, to=layout, causal=True, bias=torch.zeros(2, 4, 4))


def test_segments_attend_to_their_own_segment_only():
    (queries, keys, values), layout = made(padded=True)
    whole = attend(queries, keys, values, of=layout, to=layout, causal=False)
    keys, values = keys.clone(), values.clone()
    keys[4:], values[4:] = 9.0, 9.0
    other = attend(queries, keys, values, of=layout, to=layout, causal=False)
    assert torch.equal(whole[:4], other[:4])
    assert torch.allclose(other[4:], torch.tensor(9.0))


def test_causal_attention_of_a_first_token_is_its_own_value():
    (queries, keys, values), layout = made(padded=True)
    seen = attend(queries, keys, values, of=layout, to=layout, causal=True)
    torch.testing.assert_close(seen[[0, 4]], values[[0, 4]])
    free = attend(queries, keys, values, of=layout, to=layout, causal=False)
    torch.testing.assert_close(seen[[3, 5]], free[[3, 5]])
    assert not torch.allclose(seen[0], free[0])


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("kept", [1, 2])
def test_grouped_heads_equal_attention_written_out_with_each_key_used_by_its_group(kept, causal):
    generator = torch.Generator().manual_seed(0)
    queries = torch.randn(6, 4, 8, generator=generator, dtype=torch.float64)
    keys, values = (torch.randn(6, kept, 8, generator=generator, dtype=torch.float64) for _ in range(2))
    layout = sequence_layout(stream_of(ROWS), padded=True)
    repeated = [torch.stack([x[:, h * kept // 4] for h in range(4)], dim=1) for x in (keys, values)]
    slow = naive(queries, *repeated, layout, layout, causal=causal)
    torch.testing.assert_close(attend(queries, keys, values, of=layout, to=layout, causal=causal), slow)


def flat(*, tiled=True):
    layout = sequence_layout(stream_of(ROWS), padded=False)
    return layout._replace(spans=spans_of(stream_of(ROWS))) if tiled else layout


@pytest.mark.parametrize("size", TILES)
@pytest.mark.parametrize("half", [torch.float16, torch.bfloat16])
def test_half_precision_where_tiles_run_takes_tiles(monkeypatch, size, half):
    calls = []
    queries, layout = torch.zeros(6, 4, size, dtype=half), flat()
    keys = queries[:, :2]

    def kernel(*given, **words):
        calls.append((given, words))
        return queries

    monkeypatch.setattr(attention, "attend_tiled", kernel)
    assert attend(queries, keys, keys, of=layout, to=layout, causal=True) is queries
    assert calls == [((queries, keys, keys), {"of": layout, "to": layout, "causal": True})]


def test_whatever_tiles_are_not_made_for_goes_to_the_other_kernel():
    half = torch.zeros(6, 2, 64, dtype=torch.float16)
    assert fits_tiles(half, flat(), flat())
    assert not fits_tiles(half.float(), flat(), flat())
    assert not fits_tiles(torch.zeros(6, 2, 48, dtype=torch.float16), flat(), flat())
    assert not fits_tiles(half, flat(), flat(tiled=False))
    assert not fits_tiles(half, flat(tiled=False), flat())


def test_autocast_decides_on_the_precision(monkeypatch):
    wide, half = torch.zeros(6, 2, 64), torch.zeros(6, 2, 64, dtype=torch.float16)
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda device: True)
    monkeypatch.setattr(torch, "get_autocast_dtype", lambda device: torch.bfloat16)
    assert fits_tiles(wide, flat(), flat())
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda device: False)
    assert not fits_tiles(wide, flat(), flat())
    assert fits_tiles(half, flat(), flat())


@pytest.mark.slow
def test_translating_on_a_cpu_begins_without_the_compiler():
    """It takes longer to import than all the rest, and 70 MiB."""
    look = (
        "import sys, trimtab.inference.together; print(sorted({'torch._dynamo', 'sympy'} & {*sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_compiled_step_holds_the_kernel_and_no_break():
    """The kernel comes when it is first asked for."""
    assert "torch_attn._varlen_attn" in operators_of_a_step("varlen")


def operators_of_a_step(kernel, module="attention"):
    """Of a compiled call of `attend_KERNEL`, traced in a process without checked types, on no device at all."""
    script = TRACED.replace("KERNEL", kernel).replace("MODULE", module)
    return printed(lambda: exec(script, {}))


TRACED = """
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from trimtab.model.MODULE import attend_KERNEL
from trimtab.model.sequence_layout import SequenceLayout

def told(graph, inputs):
    print(*(node.target for node in graph.graph.nodes))
    return graph

with FakeTensorMode():
    queries = torch.empty(64, 8, 64, device="cuda", dtype=torch.bfloat16)
    layout = SequenceLayout(torch.empty(3, device="cuda", dtype=torch.int32), max_seqlen=40, places=None, real=None)
    step = torch.compile(
        lambda it: attend_KERNEL(it, it, it, of=layout, to=layout, causal=True), backend=told, fullgraph=True
    )
    assert step(queries).shape == queries.shape
"""
