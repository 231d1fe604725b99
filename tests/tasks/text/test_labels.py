from dataclasses import replace

import pytest
import torch

from tests.document_run import document_recipe
from tests.streams import pack_of
from trimtab.build import build
from trimtab.config.load import load_recipe
from trimtab.config.paths import resolve_paths
from trimtab.progress import Silent
from trimtab.tasks.task_of import open_datasets
from trimtab.tasks.text.labels import (
    labels_come_next,
    loss_reads_its_label,
    lost_examples,
    most_unlike_its_neighbours,
    shift_error,
)
from trimtab.tasks.text.probing import probe_window
from trimtab.types import IGNORE

START, END = 2, 3


@pytest.fixture
def pack():
    return pack_of([[7, END], [8, 9, END]], [[10, 11, END], [12, 13, 14, END]])


def error_of(pack):
    return shift_error(pack, start=START, end=END)


def test_labels_that_follow_are_well(pack):
    assert error_of(pack) == ""
    labels = pack.labels.clone()
    labels[3:5] = IGNORE  # a prompt
    assert error_of(replace(pack, labels=labels)) == ""


def test_labels_that_were_not_shifted_are_found(pack):
    assert "(100% are the token that was shown)" in error_of(replace(pack, labels=pack.target.ids))


def test_a_single_label_that_is_wrong_is_found_wherever_it_stands(pack):
    for place in range(len(pack.labels)):
        labels = pack.labels.clone()
        labels[place] += 1
        assert "1 of 7 labels are not the token that follows (0%" in error_of(replace(pack, labels=labels))


def test_labels_of_the_tail_and_a_missing_start_are_found(pack):
    assert "slots that hold no example count" in error_of(replace(pack, num_segments=1))
    ids = pack.target.ids.clone()
    ids[3] = 9
    other = replace(pack, target=replace(pack.target, ids=ids))
    assert error_of(other) == "an example does not begin with the start symbol"


@pytest.fixture
def cut(parts):
    window = probe_window(parts)
    return window, parts.batching.cut(window)


def test_a_whole_window_is_in_its_packs(parts, cut):
    window, packs = cut
    assert len(packs) > 1
    assert lost_examples(packs, window) == ""
    assert list(labels_come_next(parts)) == []


def test_a_lost_pack_a_doubled_one_and_a_wrong_count_are_found(cut):
    window, packs = cut
    for wrong in (packs[1:], [*packs, packs[0]], [replace(packs[0], num_targets=1), *packs[1:]]):
        assert "labels count" in lost_examples(wrong, window)


def test_sources_beside_other_targets_are_found(cut):
    window, packs = cut
    ids = packs[0].source.ids.clone()
    ids[0] += 1
    wrong = replace(packs[0], source=replace(packs[0].source, ids=ids))
    assert "not all of them the same" in lost_examples([wrong, *packs[1:]], window)


def test_a_cut_that_loses_examples_is_told(parts, monkeypatch):
    healthy = type(parts.batching).cut
    monkeypatch.setattr(
        type(parts.batching), "cut", lambda self, window, shape=None: healthy(self, window, shape)[:-1]
    )
    assert [each.code for each in labels_come_next(parts)] == ["L203"]


def test_prompts_are_no_lost_labels(tmp_path):
    recipe = resolve_paths(load_recipe(document_recipe(tmp_path)))
    parts = build(recipe, open_datasets(recipe, tokenizer_folder=tmp_path / "tokenizer", progress=Silent()))
    assert probe_window(parts).prompt.any()
    assert list(labels_come_next(parts)) == []
    assert list(loss_reads_its_label(parts)) == []


@pytest.mark.parametrize("shift", [1, -1, 2])
def test_labels_shifted_on_their_way_into_the_loss_are_found(parts, shift):
    healthy = parts.stepper.objective
    parts.stepper.objective = lambda pack: healthy(replace(pack, labels=pack.labels.roll(shift)))
    assert [(each.code, each.severity) for each in loss_reads_its_label(parts)] == [("L204", "error")]


def test_the_place_is_taken_that_tells_most():
    costs = torch.tensor(
        [[5.0, 5.0, 5.0, 5.0], [5.0, 1.0, 4.0, 5.0], [5.0, 3.0, 5.0, 5.0], [5.0, 5.0, 5.0, 5.0]]
    )
    apart, place = most_unlike_its_neighbours(costs)
    assert place == 1
    assert apart == 2.0


def test_where_all_cost_the_same_nothing_is_concluded(parts):
    with torch.no_grad():
        parts.model.embedding.weight.zero_()
    assert list(loss_reads_its_label(parts)) == []
