from types import SimpleNamespace

import pytest
import torch
import torch._inductor

from tests.model.test_encoder_decoder import build
from trimtab.model.transformer import inductor_options


def test_the_options_are_such_as_this_torch_takes():
    torch.compile(torch.nn.LayerNorm(8), dynamic=False, options=inductor_options("layer"))
    assert inductor_options("rms") == {}


def test_a_torch_that_does_not_know_them_is_told_nothing(monkeypatch):
    monkeypatch.setattr(torch._inductor, "config", SimpleNamespace(triton=SimpleNamespace()))
    assert inductor_options("layer") == {}


@pytest.mark.parametrize("norm", ["layer", "rms"])
def test_blocks_are_compiled_with_those_of_their_norm(monkeypatch, norm):
    told = []
    monkeypatch.setattr(torch.nn.Module, "compile", lambda block, **words: told.append(words))
    build(norm=norm).compile_blocks()
    assert told
    assert all(words == {"dynamic": False, "options": inductor_options(norm)} for words in told)
