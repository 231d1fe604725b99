import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.image_run import reader_arm


@given(st.integers(0, 5), st.integers(1, 6))
@settings(max_examples=10, deadline=None)
def test_the_gradient_of_a_step_does_not_depend_on_how_it_is_cut(opened_both, first, count):
    parts, model, _ = reader_arm(opened_both, {})
    whole = parts.examples.one_batch(first, first + count)
    parts.stepper.objective(whole).objective.backward()
    expected = [each.grad.clone() for each in model.parameters() if each.grad is not None]
    model.zero_grad()
    for number in range(count):
        parts.stepper.objective(
            parts.examples.one_batch(first + number, first + number + 1)
        ).objective.backward()
    found = [each.grad for each in model.parameters() if each.grad is not None]
    for one, other in zip(expected, found, strict=True):
        assert torch.allclose(one, other, atol=1e-4, rtol=1e-3)
