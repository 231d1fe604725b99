import dataclasses
from pathlib import Path

import pytest

from tests.fit.planning import card, pairs_recipe, subject_of, text_recipe
from trimtab.fit import constants
from trimtab.fit.gpus import find_gpu
from trimtab.fit.memory_size import MIB
from trimtab.fit.plan import page_locked, plan_recipe
from trimtab.fit.speed import speed_of

H200 = find_gpu("h200")


def planned(recipe, gpu=H200):
    return plan_recipe(recipe, Path(), gpu)


@pytest.mark.parametrize(
    "recipe",
    [
        text_recipe(),
        text_recipe(step__compile="on"),
        text_recipe(step__precision="bf16", step__cuda_graph="off"),
        text_recipe(step__precision="fp32"),
        text_recipe(step__tokens_per_micro_batch=4096, step__ema={}),
        text_recipe(step__optimizer={"kind": "adafactor"}),
        pairs_recipe(),
        pairs_recipe(model__norm_position="after", model__tie_embeddings="none"),
    ],
    ids=range(8),
)
def test_owners_add_up_to_what_the_driver_sees(recipe):
    plan = planned(recipe)
    assert sum(plan.owners.values()) == plan.driver
    assert plan.allocated < plan.reserved < plan.driver
    assert all(size > 0 for size in plan.owners.values())
    assert max(plan.moments.values()) <= plan.allocated
    assert plan.peak >= plan.driver


def test_states_of_the_precisions_have_the_bytes_that_the_page_says():
    """16 bytes for each weight in float32, 12 with bf16 (docs/recipe.md)."""
    for precision, each in (("bf16_mixed", 12), ("bf16", 10)):  # gradients are not held between steps
        plan = planned(text_recipe(step__precision=precision))
        held = plan.owners["weights"] + plan.owners["optimizer states"]
        assert held == pytest.approx(each * plan.run.shape.parameters, rel=0.002)


def test_gradients_stay_where_a_step_has_several_micro_batches():
    one, four = (planned(text_recipe(step__tokens_per_micro_batch=size)) for size in (32768, 8192))
    assert "gradients" not in one.owners
    assert four.owners["gradients"] == pytest.approx(4 * four.run.shape.parameters, rel=0.002)
    assert four.allocated < one.allocated


def test_less_needs_less():
    whole = planned(text_recipe())
    for change in (
        {"step__tokens_per_micro_batch": 16384},
        {"step__compile": "on"},
        {"model__layers": 7},
        {"model__feed_forward": 1024},
        {"data__tokenizer": {"kind": "bytes"}},
    ):
        assert planned(text_recipe(**change)).allocated < whole.allocated, change


def test_old_cards_multiply_float16_and_copy_no_residual_in_bfloat16():
    old = planned(text_recipe(), find_gpu("t4"))
    assert old.run.how.precision == "fp16_mixed"
    assert old.activations["norms"] >= planned(text_recipe()).activations["norms"]


def test_shared_keys_are_repeated_where_segments_are_long():
    short, long = (planned(text_recipe(model__kv_heads=2, data__max_tokens=length)) for length in (512, 2048))
    assert not short.run.how.repeats_keys
    assert long.run.how.repeats_keys
    assert long.activations["attention"] > short.activations["attention"]


def test_an_evaluation_needs_neither_the_pool_of_a_recorded_step_nor_gradients():
    recorded, plain = (planned(text_recipe(step__cuda_graph=choice)) for choice in ("on", "off"))
    assert (
        recorded.evaluation - plain.evaluation
        < 2 * constants.GRAPH_BYTES
        < recorded.driver - recorded.evaluation
    )
    cut = planned(text_recipe(step__tokens_per_micro_batch=8192))
    assert cut.owners["gradients"] > 0
    assert cut.evaluation < recorded.evaluation
    without = text_recipe().model_copy(update={"data": text_recipe().data.model_copy(update={"valid": {}})})
    assert planned(without).evaluation == 0


def test_frozen_weights_are_kept_in_half_precision_and_have_no_states(tmp_path):
    from tests.pretrained_folder import pretrained_folder
    from trimtab.config.load import load_recipe

    tree = {
        "task": "language_model",
        "data": {"train": [{"text": "train.txt"}], "max_tokens": 64},
        "model": {"kind": "pretrained", "path": str(pretrained_folder(tmp_path / "model"))},
        "adapter": {"kind": "lora", "rank": 2},
        "length": "10 steps",
    }
    plan = planned(load_recipe(tree).recipe)
    shape = plan.run.shape
    assert plan.owners["optimizer states"] < 40 * MIB
    assert plan.owners["frozen weights"] < 3 * (shape.parameters - shape.trained)
    assert shape.trained < shape.parameters / 2


def test_the_host_holds_the_weights_or_what_a_checkpoint_saves():
    plan = planned(text_recipe())
    assert plan.host > 12 * plan.run.shape.parameters


def test_a_card_without_room_gets_the_same_plan():
    small = card(1.0)
    assert planned(text_recipe(), small).allocated == planned(text_recipe()).allocated
    assert dataclasses.asdict(subject_of(text_recipe()).on(small))["gpu"]["memory_gib"] == 1.0


def test_states_on_the_host_leave_the_gpu_those_of_three_tensors_and_cost_host_memory_and_time():
    here, there = (
        planned(text_recipe(step__cuda_graph="off", step__offload=offload))
        for offload in ("none", "optimizer_states")
    )
    moved = here.owners["optimizer states"] - there.owners["optimizer states"]
    assert there.owners["optimizer states"] < 0.01 * here.owners["optimizer states"]
    visiting = there.owners["optimizer states from the host"]
    largest = max(each.each for each in there.run.shape.weights)
    assert 8 * largest <= visiting <= 3 * (8 * largest + 2048)
    assert here.driver - there.driver == pytest.approx(moved - visiting, rel=0.01)
    assert here.host + 0.99 * moved <= there.host <= here.host + 2 * moved
    assert [page_locked(size) for size in (1, 512, 513, 2**26)] == [1, 512, 1024, 2**26]
    assert speed_of(there, H200).seconds > speed_of(here, H200).seconds
    assert not there.run.recorded
