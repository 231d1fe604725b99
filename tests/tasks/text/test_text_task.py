import torch

from tests.small_run import small_sources
from trimtab.tasks.text.text_task import text_task
from trimtab.tasks.translation.task import KIND


def test_a_kind_of_text_becomes_a_task_with_its_own_reading(tmp_path):
    recipe, sources = small_sources(tmp_path)
    task = text_task("riddles", KIND)
    assert task.name == "riddles"
    packing = task.plan_batches(recipe, sources, packed=False, device=torch.device("cpu"))
    examples = task.examples(sources, packing, torch.device("cpu"))
    assert (examples.kind, examples.sources, examples.packing) == (KIND, sources, packing)
    model = task.build_model(recipe, sources, device=torch.device("cpu"))
    assert model.num_ids == sources.tokenizer.num_ids
