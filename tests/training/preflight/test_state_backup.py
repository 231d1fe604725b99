import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from trimtab.training.preflight import state_backup as kept_module
from trimtab.training.preflight.state_backup import SHARE, backup, fits_beside, tensors_of


def test_copies_stay_what_they_are_whatever_becomes_of_the_originals():
    tensors = {
        "turned": torch.arange(6.0).reshape(2, 3).T,
        "count": torch.tensor(3),
        "trained": torch.nn.Parameter(torch.ones(2)),
        "mask": torch.tensor([True, False]),
        "none": torch.zeros(0),
    }
    was = {name: tensor.detach().clone() for name, tensor in tensors.items()}
    copies = backup(tensors)
    with torch.no_grad():
        for tensor in tensors.values():
            tensor.fill_(7)
    assert list(copies) == list(was)
    assert all(torch.equal(copies[name], was[name]) for name in was)
    assert not any(each.requires_grad for each in copies.values())


def test_weights_and_tables_of_a_model_are_kept_under_their_names(parts):
    names = backup(tensors_of(parts.model)).keys()
    assert {"embedding.weight", "target_positions.sines"} < names
    assert len(names) == len([*parts.model.parameters(), *parts.model.buffers()])


@pytest.mark.parametrize(("beyond", "place"), [(0, "cuda"), (-1, "cpu")])
def test_copies_of_a_gpu_lie_there_only_where_little_of_what_is_free_is_taken(monkeypatch, beyond, place):
    with FakeTensorMode():
        tensors = {
            "weight": torch.empty(100, device="cuda"),
            "moment": torch.empty(50, device="cuda"),
            "step": torch.empty(1000),
        }
        monkeypatch.setattr(
            torch.cuda, "mem_get_info", lambda device: (SHARE * 150 * 4 + beyond, SHARE * 9999)
        )
        assert fits_beside(tensors) == (place == "cuda")
        assert [each.device.type for each in backup(tensors).values()] == [place, place, "cpu"]


def test_where_memory_runs_out_all_the_same_copies_lie_in_host_memory(monkeypatch):
    healthy, asked = kept_module.copied, []

    def too_much(tensor, *, beside):
        asked.append(beside)
        if beside and len(asked) > 1:
            raise torch.OutOfMemoryError
        return healthy(tensor, beside=beside)

    monkeypatch.setattr(kept_module, "copied", too_much)
    tensors = {"one": torch.ones(2), "two": torch.zeros(2)}
    copies = backup(tensors)
    for tensor in tensors.values():
        tensor.fill_(7)
    assert asked == [True, True, False, False]
    assert copies["one"].tolist() == [1, 1]
    assert copies["two"].tolist() == [0, 0]
