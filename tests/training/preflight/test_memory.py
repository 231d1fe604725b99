import pytest
import torch

from tests.label_run import label_parts
from tests.small_run import small_parts
from trimtab.training.preflight.memory import is_out_of_memory, longest_batch


def full_memory(error):
    def objective(pack):
        raise error

    return objective


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.\nMore about it"),
        RuntimeError(
            "[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory: you tried"
        ),
        MemoryError(),
    ],
)
def test_a_longest_batch_that_does_not_fit_is_found(parts, error):
    parts.stepper.objective = full_memory(error)
    (finding,) = longest_batch(parts)
    assert (finding.code, finding.severity) == ("P201", "error")
    assert "a micro-batch of 128 target tokens" in finding.message
    assert "\n" not in finding.message
    assert "step.tokens_per_micro_batch to 64;" in finding.fix


def test_where_the_micro_batch_cannot_be_smaller_the_examples_must_be(tmp_path):
    parts = small_parts(tmp_path, **{"step.tokens_per_micro_batch": 32})
    parts.stepper.objective = full_memory(MemoryError())
    (finding,) = longest_batch(parts)
    assert "lower data.max_tokens" in finding.fix


def test_what_torch_raises_on_a_cpu_without_memory_is_recognised():
    with pytest.raises(RuntimeError) as caught:
        torch.empty(2**50)
    assert is_out_of_memory(caught.value)


def test_another_error_in_the_longest_batch_is_not_taken_for_missing_memory(parts):
    parts.stepper.objective = full_memory(RuntimeError("shapes do not match"))
    with pytest.raises(RuntimeError, match="shapes"):
        list(longest_batch(parts))


def test_the_micro_batches_of_a_classifier_are_counted_in_examples(tmp_path):
    parts = label_parts(tmp_path)
    parts.stepper.objective = full_memory(MemoryError())
    examples = parts.recipe.step.micro_batch_tokens
    (finding,) = longest_batch(parts)
    assert f"a micro-batch of {examples} examples does not fit" in finding.message
    assert f"step.tokens_per_micro_batch to {examples // 2};" in finding.fix
