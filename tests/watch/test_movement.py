import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from trimtab.watch import movement
from trimtab.watch.movement import (
    lost_share,
    lost_to_rounding,
    mark,
    marks,
    never_moved,
    rounded_away,
    unmoved,
)


@given(
    st.sampled_from([torch.float32, torch.bfloat16, torch.float16, torch.float64]),
    st.integers(1, 300),
    st.integers(0, 2**31),
)
def test_a_mark_changes_with_any_one_element(dtype, size, seed):
    draw = torch.Generator().manual_seed(seed)
    tensor = torch.randn(size, generator=draw).to(dtype)
    before = mark(tensor)
    assert mark(tensor.clone()) == before
    place = int(torch.randint(size, (), generator=draw))
    tensor[place] = (
        torch.nextafter(tensor[place], torch.tensor(9.0, dtype=dtype)) if dtype != torch.float16 else 9
    )
    assert mark(tensor) != before


def test_changes_that_add_up_to_nothing_are_seen_all_the_same():
    tensor = torch.full((6,), 1.0)
    before = mark(tensor)
    tensor[1] = torch.nextafter(tensor[1], torch.tensor(2.0))
    tensor[4] = torch.nextafter(tensor[4], torch.tensor(0.0))
    tensor[5] = torch.nextafter(tensor[5], torch.tensor(0.0))
    assert mark(tensor) != before
    assert mark(torch.tensor([1.0, 2.0])) != mark(torch.tensor([2.0, 1.0]))


def test_a_tensor_longer_than_a_chunk_is_seen_to_its_end(monkeypatch):
    tensor = torch.arange(25.0)
    whole = mark(tensor)
    monkeypatch.setattr(movement, "_CHUNK", 7)
    assert mark(tensor) == whole
    tensor[24] += 1
    assert mark(tensor) != whole


def test_a_frozen_part_and_a_part_without_gradient_are_named():
    model = torch.nn.ModuleDict(
        {name: torch.nn.Linear(3, 3, bias=False) for name in ("used", "unused", "frozen")}
    )
    model["frozen"].weight.requires_grad_(False)
    before = marks(model)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    model["used"](torch.ones(2, 3)).sum().backward()
    optimizer.step()
    assert never_moved(before, marks(model)) == ["unused.weight"]


def test_updates_below_half_a_unit_in_the_last_place_are_lost():
    weights = torch.full((100,), 1.0, dtype=torch.bfloat16)
    assert lost_to_rounding(weights, torch.full((100,), 2.0**-9)) == 1.0
    assert lost_to_rounding(weights, torch.full((100,), 2.0**-7)) == 0.0
    half = torch.cat([torch.full((50,), 2.0**-10), torch.full((50,), 2.0**-6)])
    assert lost_to_rounding(weights, half) == 0.5
    assert lost_to_rounding(weights, torch.zeros(100)) == 0.0
    assert lost_to_rounding(weights.float(), torch.full((100,), 2.0**-9)) == 0.0


def test_the_share_over_several_tensors_is_by_element():
    one, other = torch.ones(30, dtype=torch.bfloat16), torch.ones(10, dtype=torch.bfloat16)
    assert lost_share([one, other], [torch.full((30,), 2.0**-10), torch.full((10,), 0.5)]) == pytest.approx(
        0.75
    )


def test_marks_of_some_parameters_are_those_of_all():
    model = torch.nn.Linear(3, 2)
    assert marks(model, only=["bias"]) == {"bias": marks(model)["bias"]}
    assert marks(model, only={}) == {}


def test_tensors_that_never_moved_are_told_by_name():
    assert unmoved([], of=9, updates=100) is None
    found = unmoved([f"blocks.{i}" for i in range(8)], of=9, updates=100)
    assert (found.code, found.severity) == ("M902", "error")
    assert "after 100 updates 8 of 9 trainable tensors are bit-identical" in found.message
    assert found.message.endswith("blocks.5 and 2 more")


def trained_share(dtype, *, rate=1e-3):
    """The share of the updates that SGD with weights of this type loses, over a few steps."""
    torch.manual_seed(0)
    model = torch.nn.Linear(64, 64).to(dtype)
    shares = []
    for _ in range(5):
        model(torch.randn(8, 64, dtype=dtype)).float().square().mean().backward()
        updates = [-rate * each.grad.float() for each in model.parameters()]
        shares.append(lost_share(model.parameters(), updates))
        with torch.no_grad():
            for each, update in zip(model.parameters(), updates, strict=True):
                each.copy_((each.float() + update).to(dtype))
                each.grad = None
    return max(shares)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_training_in_half_precision_at_a_small_rate_is_told_what_it_loses(dtype):
    found = rounded_away(trained_share(dtype), dtype=dtype)
    assert (found.code, found.severity) == ("S924", "warning")
    assert f"leave their {str(dtype).removeprefix('torch.')} weight as it is (bound 20%)" in found.message


def test_training_in_single_precision_loses_little():
    assert rounded_away(trained_share(torch.float32), dtype=torch.float32) is None
    assert rounded_away(trained_share(torch.bfloat16, rate=300.0), dtype=torch.bfloat16) is None
