"""Memory that runs out in a command that uses a model ends it with what to do, at whichever moment."""

import re
from functools import partial

import pytest
import torch
from torch import nn

from tests.small_run import WORDS
from trimtab.cli.shell import smaller

ON_GPU = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.\nSee documentation")
IN_CONTEXT = RuntimeError("CUDA error: out of memory\nCUDA kernel errors might be reported later")
ON_HOST = RuntimeError(
    "[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory: 9 bytes"
)
SENTENCE = " ".join([*WORDS][:4])


ENDING = re.compile(r"(?m)^error: memory ran out: .+\n  fix     .+\n\Z")


def raising(error, *_, **__):
    raise error


def after(calls, error, monkeypatch):
    """Lets the memory run out at a call of a layer, of which the first are well."""
    linear, made = nn.functional.linear, []

    def full(*given, **more):
        made.append(1)
        if len(made) > calls:
            raise error
        return linear(*given, **more)

    monkeypatch.setattr(nn.functional, "linear", full)


@pytest.mark.parametrize(
    ("error", "calls"), [(ON_GPU, None), (ON_GPU, 0), (IN_CONTEXT, 30), (MemoryError(), 0), (ON_HOST, 30)]
)
@pytest.mark.parametrize("command", ["translate", "evaluate", "generate"])
def test_a_command_ends_with_what_to_do_when_memory_runs_out(
    command, error, calls, trained_run, text_run, tmp_path, call, monkeypatch
):
    text, out = tmp_path / "in", tmp_path / "out"
    text.write_text(f"{SENTENCE}\n" * 3)
    out.write_text("what was there before")
    given = {
        "translate": [trained_run, "--input", text, "--output", out],
        "evaluate": [trained_run, "--source", text, "--reference", text],
        "generate": [text_run, "--input", text, "--output", out],
    }
    if calls is None:  # while weights are loaded
        monkeypatch.setattr("trimtab.inference.load.load_weights", partial(raising, error))
    else:
        after(calls, error, monkeypatch)
    told = call(command, *given[command])
    assert told.exit_code == 1
    assert ENDING.search(told.stderr)
    assert "See documentation" not in told.stderr
    assert out.read_text() == "what was there before"


def test_the_ways_out_are_of_the_memory_that_ran_out_and_of_the_options_that_there_are():
    options = {"beam": None, "batch_tokens": None, "device": None, "output": None}
    assert smaller(ON_GPU, options) == (
        "pass --beam 2, or pass --batch-tokens 1024, or compute on the CPU with --device cpu"
    )
    assert smaller(IN_CONTEXT, {"beam": 1}) == "compute on the CPU: CUDA_VISIBLE_DEVICES= before the command"
    for error, device in ((ON_HOST, None), (MemoryError(), None), (ON_GPU, "cpu")):
        ways = smaller(error, {"beam": 8, "device": device})
        assert ways == "pass --beam 4, or end other programs that use the memory of this machine"
    assert "trimtab fit" in smaller(ON_GPU, {"recipe": "my.yaml", "beam": 4})
