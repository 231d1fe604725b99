"""Packs of all directions at once: the same gradients as one pack after another, in layers that see each pack once."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from tests.model.modular.test_modular import (
    EXAMPLE,
    MOST,
    NAMES,
    NUM_IDS,
    modular,
    modular_of,
    packing_of,
    window_of,
    written_out,
)
from trimtab.data.shape import PackShape
from trimtab.model.modular.modular import Modular
from trimtab.model.modular.together import can_be_joined, joined, predicted
from trimtab.step.accumulate import accumulate
from trimtab.step.take_step import fill_missing
from trimtab.tasks.translation.directed_batches import DirectedPacking
from trimtab.types import DirectedBatch, LossOutput, TokenLinks

CHAIN = {
    "en-de": {"encoder": ["shared.0", "de"], "decoder": ["all.0-1", "de"]},
    "de-en": {"encoder": ["shared"], "decoder": ["all"]},
    "en-pt": {"encoder": ["de", "shared.0"], "decoder": ["de", "all.0"]},
    "pt-en": {"encoder": ["shared.1"], "decoder": ["all.2"]},
}
"""Ranges, other orders, and paths of other lengths through the same components."""


def gradients_together(model: Modular, batches: list[DirectedBatch]) -> dict[str, Tensor]:
    def objective(batch: DirectedBatch) -> LossOutput:
        model.scale_gradients(batch.factors)
        losses = [
            nn.functional.cross_entropy(
                hidden @ matrix[: model.num_ids].T, labels, reduction="sum", ignore_index=-100
            )
            for hidden, matrix, labels in predicted(model, batch)
        ]
        total = sum(losses[1:], losses[0])
        return LossOutput(total, total.detach())

    model.zero_grad()
    accumulate(objective, batches)
    fill_missing(list(model.parameters()))
    return {name: weight.grad.clone() for name, weight in model.named_parameters() if weight.grad is not None}


def same_gradients(model: Modular, batches: list[DirectedBatch], expected: dict[str, Tensor]) -> None:
    found = gradients_together(model, batches)
    norm = float(torch.cat([each.flatten() for each in expected.values()]).norm())
    assert found.keys() == expected.keys()
    for key, gradient in found.items():
        assert float((gradient - expected[key]).norm()) <= 1e-6 * max(norm, 1.0), key


@pytest.mark.quick("component", "language-rotary")
@pytest.mark.parametrize(
    "changes",
    [{}, {"mean_over": "component"}, {"embeddings": "language"}, {"embeddings": "language", "positions": "rotary"}],
    ids=lambda changes: "-".join(changes.values()) or "shared",
)  # fmt: skip
@given(lengths=st.lists(EXAMPLE, min_size=1, max_size=20))
@settings(max_examples=2)
def test_all_directions_at_once_have_the_gradients_of_one_after_another(
    changes: dict[str, str], lengths: list[tuple[int, int, int]]
) -> None:
    model, window = modular(**changes), window_of(lengths)
    packing = packing_of(model, window.num_targets)
    expected = written_out(model, window, packing)
    for pieces in (1, 4):
        same_gradients(model, packing.mixed(window, pieces), expected)


def test_paths_that_part_and_meet_again_have_them_too() -> None:
    model = modular_of(CHAIN, {"shared": 2, "de": 1}, {"all": 3, "de": 1})
    window = window_of([(3, 4, 0), (5, 6, 1), (2, 7, 1), (4, 4, 3), (8, 8, 2)])
    packing = packing_of(model, window.num_targets)
    same_gradients(model, packing.mixed(window, 1), written_out(model, window, packing))


def fixed(model: Modular, *, count: int, num_joined: int = 1) -> DirectedPacking:
    """Packs of one shape, so many of each direction."""
    packing = packing_of(model, 64)
    shape = PackShape(1, 128, 128, 64, MOST, MOST, fixed=True, sort=False)
    plain = replace(packing.packing, shape=shape)
    return replace(packing, packing=plain, planned=dict.fromkeys(NAMES, count), num_joined=num_joined)


def test_a_layer_that_all_directions_share_runs_once() -> None:
    model = modular()
    calls: list[int] = []
    hook: Any = lambda module, inputs: calls.append(len(inputs[0]))  # noqa: E731
    (batch,) = fixed(model, count=1).cut_at(window_of([(3, 4, each) for each in range(len(NAMES))]), 0)
    handles = [
        stack.blocks[0].register_forward_pre_hook(hook) for stack in (model.encoder["shared"], model.decoder["en"])
    ]  # fmt: skip
    predicted(model, batch)
    for handle in handles:
        handle.remove()
    assert calls == [4 * 128, 2 * 128]


@given(st.lists(EXAMPLE, min_size=1, max_size=30), st.integers(1, 3))
@settings(max_examples=20)
def test_recorded_steps_are_alike_and_lose_no_target(
    lengths: list[tuple[int, int, int]], num_joined: int
) -> None:
    window = window_of(lengths)
    packing = fixed(modular(), count=2, num_joined=num_joined)
    batches = packing.cut_at(window, 0)
    assert sum(batch.num_targets for batch in batches) == window.num_targets
    assert len(batches) == num_joined == packing.num_batches
    names = [name for batch in batches for name, _ in batch.parts]
    assert names == [name for name in NAMES for _ in range(2)]
    shapes = {shape for batch in batches for _, shape in batch.static_key[1:]}  # type: ignore[index]
    assert len(shapes) == 1
    assert len(packing.at_once) == max(len(batch.parts) for batch in batches)


def test_what_does_not_fit_into_the_planned_packs_follows_by_itself() -> None:
    packing = fixed(modular(), count=1)
    window = window_of([(8, 8, 0)] * 20 + [(3, 4, 1)])
    first, *more = packing.cut_at(window, 0)
    assert [name for name, _ in first.parts] == list(NAMES)
    assert [[name for name, _ in batch.parts] for batch in more] == [[NAMES[0]]]
    assert first.num_targets + more[0].num_targets == window.num_targets


def test_the_segments_of_joined_streams_stay_what_they_are() -> None:
    window = window_of([(3, 4, 0), (5, 6, 0), (2, 7, 1)])
    (batch,) = packing_of(modular(), 64).mixed(window, 1)
    one, other = (pack.source for pack in batch.packs)
    both = joined([one, other])
    assert both.cu_seqlens.tolist() == [0, 3, 8, 10]
    assert both.segments.tolist() == [0] * 3 + [1] * 5 + [2] * 2
    assert both.positions.tolist() == [*range(3), *range(5), *range(2)]
    assert joined([one]) is one


def test_packs_with_alignments_are_not_joined() -> None:
    (batch,) = packing_of(modular(), 64).mixed(window_of([(3, 4, 0), (2, 7, 1)]), 1)
    one, other = batch.packs
    assert can_be_joined([one, other])
    assert not can_be_joined([one])
    links = TokenLinks(torch.zeros(1).long(), torch.zeros(1).long(), torch.ones(1))
    assert not can_be_joined([one, replace(other, links=links)])


@pytest.mark.gpu
def test_on_a_gpu_flat_kernels_see_joined_packs_as_they_see_each() -> None:
    device = torch.device("cuda")
    model = Modular(modular().config, num_ids=NUM_IDS, max_positions=64, seed=1).to(device)
    model.kernel = "varlen"
    window = window_of([(3, 4, 0), (5, 6, 1), (2, 7, 1), (4, 4, 3), (8, 8, 2)])
    batch = fixed(model, count=1).cut_at(window, 0)[0].to(device)
    with torch.autocast("cuda", torch.bfloat16):
        ((hidden, _, labels),) = predicted(model, batch)
        alone = torch.cat([model.translator(name)(pack) for name, pack in batch.parts])
    counts = labels != -100
    assert torch.equal(labels, batch.labels)
    assert torch.allclose(hidden[counts].float(), alone[counts].float(), atol=0.05)
