from pathlib import Path

import pytest
import torch

from tests.config.test_modular_model import tree_with
from tests.fit.planning import card, pairs_recipe, subject_of, text_recipe
from tests.for_each import for_each
from tests.modular_run import MODEL as MODULAR
from trimtab.config.load import load_recipe
from trimtab.config.parallel import FullySharded
from trimtab.distributed.sharding import Sharding
from trimtab.distributed.torch_ranks import NUMBERS_AT_ONCE
from trimtab.fit import sharded
from trimtab.fit.ask import OF_ALL_COMPONENTS, notes_of
from trimtab.fit.climb import cheapest_climb
from trimtab.fit.gpus import find_gpu
from trimtab.fit.plan import plan_recipe
from trimtab.fit.shape import Weights
from trimtab.fit.sharded import share_of, trains_on
from trimtab.fit.speed import speed_of

H200 = find_gpu("h200")
FSDP = {"kind": "fsdp"}


def planned(recipe, ranks=1):
    return plan_recipe(recipe, Path(), H200, ranks=ranks)


@for_each("rows", [1, 2, 5, 7, 600])
def test_the_planned_share_is_what_the_first_process_holds(rows):
    class Mesh:
        def size(self):
            return 4

        def get_local_rank(self):
            return 0

    sharding = Sharding.__new__(Sharding)
    object.__setattr__(sharding, "mesh", Mesh())
    share = share_of(Weights("up", (rows, 3), "matrix"), 4)
    assert share.shape == tuple(sharding.part_of(torch.zeros(rows, 3)).shape)


def test_gradients_are_summed_in_buffers_of_the_size_that_is_planned():
    assert sharded.NUMBERS_AT_ONCE == NUMBERS_AT_ONCE


def test_gains_of_norms_are_whole_on_each_process():
    assert share_of(Weights("norm.weight", (6,), "vector"), 2).shape == (6,)
    assert share_of(Weights("up.bias", (6,), "vector"), 2).shape == (3,)


@for_each("ranks", [2, 8])
def test_weights_and_states_are_divided_by_the_number_of_processes(ranks):
    for make in (text_recipe, pairs_recipe):
        whole, shared = planned(make(step__cuda_graph="off")), planned(make(parallel=FSDP), ranks)
        for owner in ("weights", "optimizer states"):
            assert shared.owners[owner] == pytest.approx(whole.owners[owner] / ranks, rel=0.02)
        assert sum(shared.owners.values()) == shared.driver
        assert all(size > 0 for size in shared.owners.values())
        assert not shared.run.recorded
        assert shared.start > 4 * shared.run.shape.parameters
        assert shared.run.shape == whole.run.shape


def test_one_process_shards_nothing():
    one, plain = planned(text_recipe(parallel=FSDP)), planned(text_recipe())
    assert (one.owners, one.start) == (plain.owners, 0)


def test_processes_with_whole_weights_share_the_micro_batches_and_need_a_buffer_for_sums():
    cut = {"step__tokens_per_micro_batch": 8192}
    one, two = planned(text_recipe(**cut)), planned(text_recipe(**cut), 2)
    assert (one.run.slots.micro_batches, two.run.slots.micro_batches) == (4, 2)
    assert one.run.slots.target == two.run.slots.target
    assert two.moments["sum over processes"] > two.moments["optimizer"]
    assert two.owners["weights"] == one.owners["weights"]
    assert speed_of(two, H200).tokens_per_second > 1.8 * speed_of(one, H200).tokens_per_second
    odd = planned(text_recipe(step__tokens_per_micro_batch=16384), 3)
    assert odd.run.slots.micro_batches == 1


@for_each(
    "changes",
    [
        {"step__gradients": "released", "step__cuda_graph": "off"},
        {"step__offload": "optimizer_states"},
        {"step__precision": "bf16"},
    ],
)
def test_what_several_processes_cannot_train_is_not_proposed(changes):
    assert trains_on(text_recipe(), 2)
    assert trains_on(text_recipe(**changes), 1)
    assert not trains_on(text_recipe(**changes), 2)


def test_sharding_is_proposed_where_whole_weights_do_not_fit():
    recipe = text_recipe(model__preset="big", step__tokens_per_micro_batch=2048)
    situation = subject_of(recipe).on(card(20), ranks=4)
    climb = cheapest_climb(situation)
    assert "parallel.kind=fsdp" in climb.command_line
    assert climb.plan.peak <= card(20).memory
    assert "step.optimizer.states" not in climb.command_line


def modular_tree(**parallel):
    model = {**MODULAR, "dim": 2048, "heads": 16, "feed_forward": 8192}
    step = {"tokens_per_step": 65536, "tokens_per_micro_batch": 32768, "cuda_graph": "off"}
    return tree_with(model=model, step=step, parallel=parallel)


def test_fsdp_is_not_proposed_for_a_modular_model_and_what_is_proposed_loads():
    tree = modular_tree(kind="data_parallel")
    subject = subject_of(load_recipe(tree).recipe)
    assert trains_on(subject.recipe, 2)
    assert not trains_on(subject.recipe.model_copy(update={"parallel": FullySharded()}), 2)
    climb = cheapest_climb(subject.on(card(11), ranks=2))
    assert climb is not None
    assert "parallel.kind" not in [change.key for change in climb.changes]
    load_recipe(tree, [change.override for change in climb.changes])


def test_a_plan_by_direction_is_told_to_be_an_upper_bound():
    subject = subject_of(load_recipe(modular_tree(kind="by_direction")).recipe)
    assert OF_ALL_COMPONENTS in notes_of(subject, 2)
    assert OF_ALL_COMPONENTS not in notes_of(subject, 1)
