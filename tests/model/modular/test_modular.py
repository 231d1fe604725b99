"""The modular model: ways over shared modules, exact gradients of components, names of weights."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from tests.modular_run import DIRECTIONS, MODEL
from trimtab.config.modular_model import ModularModel
from trimtab.data.packing import Packing
from trimtab.data.shape import PackShape
from trimtab.data.text_global_batch import TextGlobalBatch
from trimtab.distributed.share import deal
from trimtab.model.modular.modular import Modular, key_of
from trimtab.step.accumulate import accumulate
from trimtab.step.take_step import fill_missing
from trimtab.tasks.translation.directed_batches import DirectedPacking
from trimtab.types import LossOutput, Ragged

NUM_IDS, MOST = 40, 8
NAMES = tuple(DIRECTIONS)


@cache
def modular(**changes: Any) -> Modular:
    return Modular(
        ModularModel.model_validate({**MODEL, **changes}), num_ids=NUM_IDS, max_positions=64, seed=1
    )


def window_of(lengths: list[tuple[int, int, int]]) -> TextGlobalBatch:
    """Examples of so many source and target tokens, each with the number of its direction."""
    draw = np.random.default_rng(0)
    sides = [
        Ragged.of([draw.integers(4, NUM_IDS, size=each[side]).tolist() for each in lengths])
        for side in (0, 1)
    ]
    corpus = np.array([each[2] for each in lengths], np.int32)
    return TextGlobalBatch(*sides, corpus, np.arange(len(lengths)), 0)


def packing_of(model: Modular, tokens: int) -> DirectedPacking:
    shape = PackShape(1, 512, 512, 512, MOST, MOST, fixed=False, sort=True)
    symbols = {"start_symbol": 1, "pad_symbol": 0, "source_pad_symbol": 0}
    packing = Packing(shape, symbols, tokens, lambda step: tokens, torch.device("cpu"))
    users = model.users() if model.config.mean_over == "component" else None
    return DirectedPacking(packing, NAMES, dict.fromkeys(NAMES, 1), users)


def summed_loss(model: Any, pack: Any) -> Tensor:
    logits = model.logits(model(pack))
    return nn.functional.cross_entropy(logits, pack.labels, reduction="sum", ignore_index=-100)


def gradients_of(model: Modular, batches: Any, *, targets: int | None = None) -> dict[str, Tensor]:
    """By the way of training: accumulated over micro-batches, of which a rank may have a part of a step's `targets`."""

    def objective(batch: Any) -> LossOutput:
        model.scale_gradients(batch.factors)
        losses = [summed_loss(model.translator(name), pack) for name, pack in batch.parts]
        total = sum(losses[1:], losses[0])
        return LossOutput(total, total.detach())

    model.zero_grad()
    accumulate(objective, batches, targets=None if targets is None else torch.tensor(float(targets)))
    fill_missing(list(model.parameters()))
    return {name: weight.grad.clone() for name, weight in model.named_parameters() if weight.grad is not None}


def written_out(model: Modular, window: TextGlobalBatch, packing: DirectedPacking) -> dict[str, Tensor]:
    """The slow twin: each direction alone and whole, its gradient by component divided by hand."""
    model.scale_gradients(None)
    sums: dict[str, Tensor] = {name: torch.zeros_like(weight) for name, weight in model.named_parameters()}
    targets: dict[str, int] = {}
    for batch in packing.mixed(window, 1)[0].parts:
        name, pack = batch
        targets[name] = pack.num_targets
        model.zero_grad()
        summed_loss(model.translator(name), pack).backward()
        for key, weight in model.named_parameters():
            sums[key] += 0 if weight.grad is None else weight.grad
    users = model.users()

    def divisor(key: str) -> int:
        own = users[model.component_of(key)] if model.config.mean_over == "component" else set(NAMES)
        return max(1, sum(count for name, count in targets.items() if name in own))

    return {key: total / divisor(key) for key, total in sums.items()}


EXAMPLE = st.tuples(st.integers(1, MOST), st.integers(1, MOST), st.integers(0, len(NAMES) - 1))


@pytest.mark.quick("component")
@pytest.mark.parametrize("mean_over", ["step", "component"])
@given(lengths=st.lists(EXAMPLE, min_size=1, max_size=20))
@settings(max_examples=5)
def test_the_gradient_of_each_component_is_the_same_however_the_step_is_cut(
    mean_over: str, lengths: list[tuple[int, int, int]]
) -> None:
    model, window = modular(mean_over=mean_over), window_of(lengths)
    packing = packing_of(model, window.num_targets)
    expected = written_out(model, window, packing)
    norm = max(float(torch.cat([each.flatten() for each in expected.values()]).norm()), 1e-6)
    cuts = [packing.mixed(window, pieces) for pieces in (1, 4, 16)] + [packing.cut_at(window, 0)]
    for batches in cuts:
        assert sum(batch.num_targets for batch in batches) == window.num_targets
        found = gradients_of(model, batches)
        assert found.keys() == expected.keys()
        for key, gradient in found.items():
            assert float((gradient - expected[key]).norm()) <= 1e-6 * max(norm, 1.0), key


@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_that_share_the_micro_batches_of_a_step_sum_to_its_gradient(ranks: int) -> None:
    model = modular(mean_over="component")
    window = window_of([(3, 4, 0), (5, 6, 1), (2, 7, 1), (4, 4, 3), (8, 8, 2)])
    packing = packing_of(model, window.num_targets)
    batches = packing.cut_at(window, 0)
    shares = [gradients_of(model, hand, targets=window.num_targets) for hand in deal(batches, ranks)]
    for name, expected in written_out(model, window, packing).items():
        total = sum((share[name] for share in shares[1:]), shares[0][name])
        assert torch.allclose(total, expected, atol=1e-6), name


def test_a_component_without_targets_in_a_step_has_a_gradient_of_zero() -> None:
    model = modular()
    window = window_of([(3, 4, NAMES.index("en-de"))] * 4)
    found = gradients_of(model, packing_of(model, 16).cut_at(window, 0))
    idle = [name for name, gradient in found.items() if not gradient.any()]
    assert {model.component_of(name) for name in idle} >= {"encoder.de", "decoder.en", "decoder.pt"}
    assert all(not name.startswith(("encoder.shared", "decoder.de")) for name in idle)


def test_directions_run_through_the_very_modules_that_they_name() -> None:
    model = modular()
    one, other = model.translator("en-de"), model.translator("de-en")
    assert one.encoder.blocks[0] is other.encoder.blocks[0]
    assert [len(each.encoder.blocks) for each in (one, other)] == [1, 2]
    assert one.decoder.blocks[0] is not other.decoder.blocks[0]
    assert one.config.encoder_layers == 1
    assert other.config.encoder_layers == 2
    assert model.users()["encoder.shared"] == set(NAMES)
    assert model.users()["decoder.en"] == {"de-en", "pt-en"}


def test_each_weight_is_in_a_component_and_is_used() -> None:
    for embeddings, tied in (
        ("shared", "all"),
        ("language", "all"),
        ("language", "none"),
        ("shared", "none"),
    ):
        model = modular(embeddings=embeddings, tie_embeddings=tied)
        assert model.wrongly_tied() == ""
        assert all(model.users().values()), embeddings
        window = window_of([(3, 4, number) for number in range(len(NAMES)) for _ in range(2)])
        found = gradients_of(model, packing_of(model, 32).cut_at(window, 0))
        assert all(bool(gradient.any()) for gradient in found.values()), (embeddings, tied)


def test_ranges_of_layers_share_the_layers_that_both_name() -> None:
    directions = {
        "en-de": {"encoder": ["deep.0-1"], "decoder": ["de"]},
        "de-en": {"encoder": ["deep"], "decoder": ["de", "en"]},
    }
    model = modular_of(directions, {"deep": 3}, {"de": 1, "en": 1})
    one, other = (model.translator(name).encoder.blocks for name in ("en-de", "de-en"))
    assert list(one) == list(other)[:2]
    assert len(other) == 3


def modular_of(directions: Any, encoder: Any, decoder: Any) -> Modular:
    parts = {"directions": directions, "encoder_components": encoder, "decoder_components": decoder}
    config = ModularModel.model_validate({**MODEL, **parts})
    return Modular(config, num_ids=NUM_IDS, max_positions=64, seed=1)


def test_components_may_be_called_as_attributes_of_modules_are() -> None:
    directions = {
        "to-en": {"encoder": ["half"], "decoder": ["to"]},
        "en-to": {"encoder": ["half"], "decoder": ["to"]},
    }
    model = modular_of(directions, {"half": 1}, {"to": 1})
    assert key_of("to") != "to"
    assert model.users()[f"decoder.{key_of('to')}"] == set(directions)
    taken = [name for name in dir(nn.ModuleDict()) if name.isascii()]
    names = [*taken, *(f"{name}_" for name in taken), *(f"{name}__" for name in taken), "shared", "_", "x_"]
    modules = nn.ModuleDict({key_of(name): nn.Identity() for name in names})
    assert len(modules) == len(set(names))
    assert [key_of(name) for name in ("shared", "x_")] == ["shared", "x_"]


def test_a_copy_in_half_precision_translates_by_its_own_weights() -> None:
    model = modular()
    copied = model.half_precision_copy(torch.bfloat16)
    assert copied.translator("en-de").output_matrix.dtype == torch.bfloat16
    assert model.translator("en-de").output_matrix.dtype == torch.float32


def test_blank_packs_of_a_fixed_shape_change_no_gradient() -> None:
    model = modular()
    window = window_of([(3, 4, 0), (5, 6, 1), (2, 7, 1)])
    packing = packing_of(model, 64)
    shape = PackShape(1, 128, 128, 64, MOST, MOST, fixed=True, sort=False)
    packing = replace(packing, packing=replace(packing.packing, shape=shape), planned=dict.fromkeys(NAMES, 2))
    batches = packing.cut_at(window, 0)
    assert [name for batch in batches for name, _ in batch.parts] == [
        name for name in NAMES for _ in range(2)
    ]
    full = gradients_of(model, batches)
    bare = gradients_of(model, packing_of(model, 64).cut_at(window, 0))
    for key in full:
        assert torch.allclose(full[key], bare[key], atol=1e-6), key
