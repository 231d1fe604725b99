from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.language_run import language_parts
from tests.small_run import small_parts
from trimtab.errors import InputError
from trimtab.tasks.task import (
    Batching,
    ComputesLoss,
    Datasets,
    Exported,
    ExportedFolder,
    ids_as_numbers,
    no_embedding_rows,
    no_ids,
    no_warm_start,
    unknown_loss,
)
from trimtab.watch.unseen_tokens import UnseenTokens


@pytest.mark.parametrize("parts_of", [small_parts, language_parts])
def test_what_a_task_gives_a_run_is_what_every_run_asks_for(tmp_path, parts_of):
    parts = parts_of(tmp_path)
    assert isinstance(parts.datasets, Datasets)
    assert isinstance(parts.batching, Batching)
    assert isinstance(parts.stepper.loss, ComputesLoss)
    loss, name = parts.task.untrained(parts.datasets)
    assert 0 < loss < 20
    assert name == "ln(vocabulary)"


@pytest.mark.parametrize("parts_of", [small_parts, language_parts])
def test_ids_of_a_window_are_rows_of_the_embeddings_that_are_watched(tmp_path, parts_of):
    parts = parts_of(tmp_path)
    unseen = UnseenTokens(parts.task.embedding_rows(parts.recipe, parts.datasets))
    window, _ = next(parts.stream.host_batches(0))
    for side, ids in parts.task.ids_read(window).items():
        unseen.add(side, ids)
    assert all(0 < share < 1 for share in unseen.shares().values())
    piece = parts.task.vocabulary(parts.recipe, parts.datasets).target
    assert piece(5) == parts.datasets.tokenizers.target.piece(5)


def test_a_task_that_reads_no_ids_watches_no_rows_and_names_tokens_by_number(tmp_path):
    recipe = small_parts(tmp_path).recipe
    assert no_embedding_rows(recipe, None) == no_ids(None) == {}
    assert ids_as_numbers(recipe, None).source(7) == "7"


def test_an_export_is_plain_data_and_says_what_uses_it():
    gate = SimpleNamespace(to_dict=lambda: {"passed": True}, render=lambda: "4 images")
    found = ExportedFolder(Path("out"), "onnx", 3, gate, "python read.py IMAGE")
    assert isinstance(found, Exported)
    assert found.to_dict() == {"folder": "out", "target": "onnx", "step": 3, "gate": {"passed": True}}
    assert found.render().splitlines()[1:] == ["4 images", "python read.py IMAGE"]


def test_any_finite_loss_is_within_the_bounds_of_one_that_is_not_known():
    expected = unknown_loss(None).loss
    assert abs(5.0 - expected) <= 0.15 * expected


def test_a_model_that_begins_from_nothing_says_what_it_cannot_start_from():
    with pytest.raises(InputError, match="cannot start from RUN@5"):
        no_warm_start(None, None, None, name="RUN@5")
