import pytest
import torch

from tests.small_run import small_parts, small_sources
from trimtab.errors import InputError
from trimtab.inference import load_model
from trimtab.tasks.text.text_task import take_text_weights, text_task
from trimtab.tasks.translation.task import KIND


def test_a_kind_of_text_becomes_a_task_with_its_own_reading(tmp_path):
    recipe, sources = small_sources(tmp_path)
    task = text_task("riddles", KIND)
    assert task.name == "riddles"
    batching = task.plan_batches(recipe, sources, packed=False, device=torch.device("cpu"))
    examples = task.examples(sources, batching, torch.device("cpu"))
    assert (examples.kind, examples.datasets, examples.batching) == (KIND, sources, batching)
    model = task.build_model(recipe, sources, device=torch.device("cpu"))
    assert model.num_ids == sources.tokenizer.num_ids


def test_weights_of_the_same_vocabulary_are_taken_as_they_are(tmp_path, trained_run):
    parts, old = small_parts(tmp_path), load_model(str(trained_run), device="cpu")
    said = take_text_weights(old, parts.datasets, parts.model, name="the old run")
    assert "66" in said
    for name, weight in old.model.state_dict().items():
        assert torch.equal(parts.model.state_dict()[name], weight), name


def test_another_model_is_named_with_the_run_that_has_it(tmp_path, trained_run):
    parts, old = small_parts(tmp_path, **{"model.dim": 48}), load_model(str(trained_run), device="cpu")
    with pytest.raises(InputError, match=r"model\.dim: differs from the model to start from") as caught:
        take_text_weights(old, parts.datasets, parts.model, name="the old run")
    assert "the old run" in str(caught.value)
