import numpy as np
import pytest
import torch

from tests.diffusion_run import with_model
from trimtab.build import build
from trimtab.step.accumulate import accumulate
from trimtab.tasks.diffusion.batches import BANDS, NoiseSampling
from trimtab.tasks.diffusion.process import Process


def gradients(parts, *sizes):
    """Those of four examples in batches of these sizes."""
    window = parts.examples.between(0, 4)
    whole = parts.batching.cut(window, 4)[0]
    splits = [tensor.split(sizes) for tensor in whole.tensors()]
    names = [*whole.named_tensors()]
    batches = [
        type(whole)(**dict(zip(names, tensors, strict=True)), num_targets=len(tensors[0]))
        for tensors in zip(*splits, strict=True)
    ]
    parts.model.train()
    for weight in parts.model.parameters():
        weight.grad = None
    accumulate(parts.stepper.objective, batches)
    return torch.cat([weight.grad.flatten() for weight in parts.model.parameters()])


@pytest.mark.quick("v")
@pytest.mark.parametrize("changes", [{}, {"prediction": "v", "weighting": "min_snr"}], ids=["flow", "v"])
def test_a_step_has_the_same_gradient_however_it_is_cut(opened, changes):
    parts = build(*with_model(opened, **changes))
    with torch.no_grad():  # as after some updates, so that all weights matter
        for name in sorted(parts.model.begins_zero):
            weight = parts.model.get_parameter(name)
            weight.normal_(0, 0.1, generator=torch.Generator().manual_seed(1))
    whole = gradients(parts, 4)
    for sizes in ((2, 2), (1, 1, 1, 1)):
        assert float((gradients(parts, *sizes) - whole).norm() / whole.norm()) < 1e-5


def test_batches_of_one_shape_are_filled_up_with_what_does_not_count(opened):
    recipe, datasets = opened
    step = recipe.step.model_copy(update={"tokens_per_step": 10, "tokens_per_micro_batch": 4})
    parts = build(recipe.model_copy(update={"step": step}), datasets)
    fixed = parts.task.plan_batches(parts.recipe, datasets, packed=True, device=torch.device("cpu"))
    loose = parts.batching.cut(parts.examples.between(0, 10))
    filled = fixed.cut(parts.examples.between(0, 10))
    assert [batch.num_slots for batch in loose] == [4, 4, 2]
    assert [batch.num_slots for batch in filled] == [4, 4, 4]
    assert [batch.num_targets for batch in filled] == [4, 4, 2]
    for one, other in zip(loose, filled, strict=True):
        losses = [float(parts.stepper.objective(batch).loss) for batch in (one, other)]
        assert losses[0] == pytest.approx(losses[1], rel=1e-6)


def test_classes_are_hidden_as_often_as_the_recipe_says_and_times_do_not_depend_on_it():
    keys, labels = np.arange(4000, dtype=np.uint64), np.ones(4000, np.int64)
    some, none = (
        NoiseSampling(Process(), rate, no_class=7).of_training(keys, labels) for rate in (0.25, 0.0)
    )
    assert float((some[1] == 7).mean()) == pytest.approx(0.25, abs=0.02)
    assert {*some[1].tolist()} == {1, 7}
    assert {*none[1].tolist()} == {1}
    assert np.array_equal(some[0], none[0])
    assert abs(np.corrcoef(some[0], some[1])[0, 1]) < 0.05


@pytest.mark.parametrize("prediction", ["flow", "epsilon"])
def test_times_of_an_evaluation_are_within_their_band(prediction):
    keys, process = np.arange(400, dtype=np.uint64), Process(prediction=prediction, shift=3.0)
    drawn = NoiseSampling(process, 0.5, no_class=7)
    for band in range(BANDS):
        bands = np.full(400, band)
        times, labels = drawn.of_band(keys, np.arange(400), bands)
        assert ((times >= process.last * band / BANDS) & (times <= process.last * (band + 1) / BANDS)).all()
        assert np.array_equal(labels, np.arange(400))
