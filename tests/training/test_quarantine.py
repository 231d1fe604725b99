import pytest
import torch

from tests.training.small_line import small_line
from trimtab.training import quarantine
from trimtab.types import SkipReason


def looked_into(line, skip_reason, *, traced=True):
    window, _ = next(line.parts.stream.host_batches(0))
    found = line.recorder.judge.quarantine.look_into(window, skip_reason, step=1, traced=traced)
    return [each.code for each in found]


def test_the_worst_lines_of_a_refused_window_are_written_and_told(tmp_path):
    line = small_line(tmp_path)
    assert looked_into(line, SkipReason.LOSS_SPIKE) == ["S911"]
    assert {each["code"] for each in line.log("quarantine")} == {"S902"}


def test_a_number_that_is_not_finite_is_traced_when_it_is_the_first(tmp_path):
    line = small_line(tmp_path)
    with torch.no_grad():
        next(iter(line.parts.model.parameters())).view(-1)[:50] = torch.nan
    assert looked_into(line, SkipReason.NOT_FINITE) == ["S911", "S910"]
    assert looked_into(line, SkipReason.NOT_FINITE, traced=False) == ["S911"]


def test_what_is_left_out_or_overflows_is_not_looked_into(tmp_path):
    line = small_line(tmp_path)
    assert looked_into(line, SkipReason.MASKED) == looked_into(line, SkipReason.OVERFLOW) == []
    assert line.log("quarantine") == []


@pytest.mark.slow
def test_a_look_that_fails_ends_no_run(tmp_path, monkeypatch):
    def no_memory(*args, **kwargs):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")

    monkeypatch.setattr(quarantine, "trace", no_memory)
    line = small_line(tmp_path, **{"length": "5 steps", "evaluate.every": "50 steps"})
    line.poison(from_step=3, until_step=3)
    assert line.train().step == 5
    told = [(each["code"], each["message"]) for each in line.log("findings")]
    assert [code for code, _ in told[:3]] == ["S901", "S911", "S912"]
    assert "OutOfMemoryError: CUDA out of memory" in told[2][1]
