from dataclasses import replace

import pytest
import torch

from tests.fit.planning import card
from tests.label_run import label_parts
from tests.small_run import small_parts
from trimtab.config.transformers_model import TransformersModel
from trimtab.errors import is_out_of_memory
from trimtab.training.preflight import memory
from trimtab.training.preflight.memory import longest_batch


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


def on_a_gpu(parts, monkeypatch, **recipe):
    """The parts of a run as if they were on a GPU of 8 GiB, with changes to their recipe."""
    monkeypatch.setattr(memory, "gpu_of", lambda device: card(8.0))
    changed = parts.recipe.model_copy(update=recipe)
    return replace(parts, device=torch.device("cuda"), recipe=changed)


def test_a_run_on_a_gpu_begins_with_its_plan(parts, monkeypatch):
    assert memory.planned_memory(parts) == ""
    told = memory.planned_memory(on_a_gpu(parts, monkeypatch))
    assert "reserved at the peak of a step is planned" in told
    planned = memory.planned_bytes(on_a_gpu(parts, monkeypatch))
    assert planned["reserved"] > planned["allocated"]


def test_what_checks_leave_in_the_cache_of_a_gpu_is_given_back(monkeypatch):
    given_back = []
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: given_back.append(True))
    memory.release_cached_memory(torch.device("cpu"))
    assert given_back == []
    memory.release_cached_memory(torch.device("cuda"))
    assert given_back == [True]


def test_what_has_no_plan_is_told_and_stops_no_run(parts, monkeypatch):
    foreign = TransformersModel(path="base", family="marian", dim=8, num_ids=20, num_source_ids=20)
    given = on_a_gpu(parts, monkeypatch, model=foreign)
    told = memory.planned_memory(given)
    assert told.startswith("memory: not planned: a model that transformers computes has no plan")
    assert memory.planned_fix(given.recipe, given.device) == ""


def test_a_fault_of_the_planner_stops_no_run(parts, monkeypatch):
    given = on_a_gpu(parts, monkeypatch)
    monkeypatch.setattr("trimtab.fit.plan.native_shape", lambda *_: 1 / 0)
    monkeypatch.setattr("trimtab.fit.ask.native_shape", lambda *_: 1 / 0)
    assert "ZeroDivisionError" in memory.planned_memory(given)
    assert memory.planned_fix(given.recipe, given.device) == ""
