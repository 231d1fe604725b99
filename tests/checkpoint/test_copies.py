import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.checkpoint.small_run import assert_equal, model_at
from tests.checkpoint.test_tensor_file import tensor_sets
from trimtab.checkpoint import copies
from trimtab.checkpoint.copies import Copies, clones_beside, copy_now, copy_through, fetch
from trimtab.checkpoint.tensor_file import snapshot


@given(tensor_sets())
def test_what_is_fetched_is_what_the_slow_twin_copies(tensors: dict[str, torch.Tensor]):
    assert_equal(fetch(copy_now(tensors)), snapshot(tensors))


@given(tensor_sets())
def test_clones_on_the_device_are_what_the_slow_twin_copies(tensors: dict[str, torch.Tensor]):
    clones = clones_beside(tensors)
    assert clones is not None
    assert_equal(clones, snapshot(tensors))
    assert all(
        clones[name].data_ptr() != tensor.data_ptr() for name, tensor in tensors.items() if tensor.numel()
    )


@given(tensor_sets(), st.integers(1, 40))
def test_whatever_the_size_of_the_stage_nothing_is_lost(tensors: dict[str, torch.Tensor], size: int):
    stage, waits = torch.empty(size, dtype=torch.uint8), []
    brought = {
        name: copy_through(stage, tensor, wait=lambda: waits.append(1)) for name, tensor in tensors.items()
    }
    assert_equal(brought, tensors)
    assert len(waits) == sum(-(-tensor.nbytes // size) for tensor in tensors.values())


def test_changes_after_the_copy_do_not_reach_it():
    model = model_at(3)
    taken = copy_now(model)
    for tensor in model.values():
        tensor.zero_()
    assert_equal(fetch(taken), model_at(3))


def test_parameters_views_and_transposed_tensors_are_copied_without_their_gradients():
    weight = torch.nn.Parameter(torch.arange(6.0).reshape(2, 3))
    clones = clones_beside({"turned": weight.T})
    assert clones is not None
    assert not clones["turned"].requires_grad
    assert clones["turned"].is_contiguous()
    assert clones["turned"].tolist() == [[0, 3], [1, 4], [2, 5]]


def test_two_names_for_one_memory_are_a_fault_of_the_caller():
    weight = torch.zeros(4, 4)
    with pytest.raises(AssertionError, match="share memory"):
        copy_now({"a": weight, "tied": weight[1:]})


def test_a_device_that_is_full_after_all_gives_no_clones(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch, "empty", out_of_memory)
    assert clones_beside(model_at(1)) is None


def out_of_memory(*_: object, **__: object) -> None:
    raise torch.OutOfMemoryError


def test_what_was_fetched_is_not_kept():
    taken = copy_now(model_at(1))
    fetch(taken)
    assert taken == Copies({})


@pytest.mark.gpu
class TestOnGpu:
    def model(self) -> dict[str, torch.Tensor]:
        on_gpu = {f"gpu.{name}": tensor.cuda() for name, tensor in model_at(3).items()}
        return {**model_at(3), **on_gpu, "turned": torch.arange(6.0, device="cuda").reshape(2, 3).T}

    def expected(self) -> dict[str, torch.Tensor]:
        on_gpu = {f"gpu.{name}": tensor for name, tensor in model_at(3).items()}
        return {**model_at(3), **on_gpu, "turned": torch.arange(6.0).reshape(2, 3).T}

    def test_changes_queued_after_the_copy_do_not_reach_it(self):
        model = self.model()
        taken = copy_now(model)
        for _ in range(100):
            for tensor in model.values():
                tensor.add_(1)
        assert not taken.out_of_memory
        assert taken.tensors["gpu.scale"].device.type == "cuda"
        assert_equal(fetch(taken), self.expected())

    def test_large_tensors_come_over_in_pieces_and_their_memory_is_given_back(
        self, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(copies, "STAGE_BYTES", 2**20)
        weight = torch.randn(3_000_001, device="cuda")
        before = torch.cuda.memory_allocated()
        taken = copy_now({"weight": weight})
        assert torch.cuda.memory_allocated() > before
        assert torch.equal(fetch(taken)["weight"], weight.cpu())
        assert torch.cuda.memory_allocated() == before

    def test_without_room_the_copy_goes_to_the_host_at_once_and_says_why(
        self, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(copies, "SPARE_BYTES", 2**60)
        taken = copy_now(self.model())
        assert "free on cuda:0" in taken.out_of_memory
        assert all(tensor.device.type == "cpu" for tensor in taken.tensors.values())
        assert_equal(fetch(taken), self.expected())

    def test_without_room_after_all_the_copy_goes_to_the_host_at_once(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(copies, "clones_beside", lambda tensors: None)
        assert_equal(fetch(copy_now(self.model())), self.expected())
