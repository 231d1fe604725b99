import pytest
import torch

from trimtab.errors import InputError
from trimtab.step.precision import autocast, resolve_precision

CPU = torch.device("cpu")


def test_a_cpu_runs_in_fp32_unless_told():
    assert resolve_precision("auto", CPU) == "fp32"
    assert resolve_precision("bf16_mixed", CPU) == "bf16_mixed"
    with pytest.raises(InputError, match="fp16_mixed"):
        resolve_precision("fp16_mixed", CPU)


@pytest.mark.parametrize(
    ("capability", "expected"), [((9, 0), "bf16_mixed"), ((8, 0), "bf16_mixed"), ((7, 5), "fp16_mixed")]
)
def test_a_gpu_runs_in_bf16_where_it_has_it(monkeypatch, capability, expected):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "a card")
    cuda = torch.device("cuda")
    assert resolve_precision("auto", cuda) == expected
    assert resolve_precision("fp32", cuda) == "fp32"
    if expected == "fp16_mixed":
        with pytest.raises(InputError, match="bf16"):
            resolve_precision("bf16_mixed", cuda)


def test_tf32_is_of_newer_gpus_alone(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "a card")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    assert resolve_precision("tf32", torch.device("cuda")) == "tf32"
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (7, 5))
    with pytest.raises(InputError, match="no tf32"):
        resolve_precision("tf32", torch.device("cuda"))
    with pytest.raises(InputError, match="needs a GPU"):
        resolve_precision("tf32", CPU)
    with autocast("tf32", CPU):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.float32


def test_only_products_run_in_half_precision():
    x = torch.randn(2, 2)
    with autocast("bf16_mixed", CPU):
        assert (x @ x).dtype == torch.bfloat16
        assert x.exp().dtype == torch.float32
    with autocast("fp32", CPU):
        assert (x @ x).dtype == torch.float32


@pytest.mark.parametrize("capability", [(9, 0), (7, 5)])
def test_narrow_weights_need_a_card_that_has_bf16(monkeypatch, capability):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "a card")
    assert resolve_precision("bf16", CPU) == "bf16"
    if capability >= (8, 0):
        assert resolve_precision("bf16", torch.device("cuda")) == "bf16"
    else:
        with pytest.raises(InputError, match="no bf16"):
            resolve_precision("bf16", torch.device("cuda"))
