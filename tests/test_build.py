import dataclasses
import itertools
import math

import pytest
import torch

from tests.small_run import small_parts
from tests.streams import pack_of
from trimtab.build import build
from trimtab.errors import InputError
from trimtab.flow import IGNORE, TrainState

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """Built from the small recipe, not trained; tests leave its weights as they are."""
    return small_parts(tmp_path_factory.mktemp("build"))


def changed(parts, **sections):
    """The same parts with another recipe: `step={"schedule": ...}` or `length="3 epochs"`."""
    tree = parts.recipe.model_dump(mode="json")
    for name, value in sections.items():
        tree[name] = {**tree[name], **value} if isinstance(value, dict) else value
    return dataclasses.replace(parts, recipe=type(parts.recipe).model_validate(tree))


def test_the_same_recipe_gives_the_same_weights_and_another_seed_gives_others(parts):
    again = build(parts.recipe, parts.sources, device=CPU).model.state_dict()
    other = build(changed(parts, seed=2).recipe, parts.sources, device=CPU).model.state_dict()
    for name, tensor in parts.model.state_dict().items():
        assert torch.equal(tensor, again[name]), name
    assert not torch.equal(parts.model.output_matrix, other["embedding.weight"])


def test_the_packs_of_a_window_hold_its_pairs_and_nothing_else(parts):
    for window, packs in itertools.islice(parts.windows(0), 3):
        assert len(packs) == parts.shape.num_packs == 2
        assert sum(pack.num_targets for pack in packs) == window.num_targets <= 256
        assert sum(int((pack.labels != IGNORE).sum()) for pack in packs) == window.num_targets
        held = [pair for pack in packs for pair in pairs_of(pack)]
        wanted = [
            (window.source.row(i).tolist(), window.target.row(i).tolist()) for i in range(len(window.target))
        ]
        assert sorted(held) == sorted(wanted)


def pairs_of(pack):
    source, target = pack.source.boundaries.tolist(), pack.target.boundaries.tolist()
    return [
        (
            pack.source.ids[source[i] : source[i + 1]].tolist(),
            pack.labels[target[i] : target[i + 1]].tolist(),
        )
        for i in range(pack.num_segments)
    ]


def test_windows_go_on_from_a_position_as_if_they_had_never_stopped(parts):
    first = [window for window, _ in itertools.islice(parts.cut_windows(0), 4)]
    resumed = [window for window, _ in itertools.islice(parts.cut_windows(first[1].position), 2)]
    for one, other in zip(first[2:], resumed, strict=True):
        assert one.position == other.position
        assert one.target.values.tolist() == other.target.values.tolist()


def test_the_objective_is_the_summed_loss_of_the_window_however_it_is_cut(parts):
    parts.model.eval()
    window, packs = next(parts.windows(0))
    whole = parts.cut(
        window, dataclasses.replace(parts.shape, num_packs=1, target_slots=320, source_slots=640)
    )
    with torch.no_grad():
        sums = [sum(float(parts.objective(pack).loss) for pack in cut) for cut in (packs, whole)]
    assert (len(packs), len(whole)) == (2, 1)
    assert sums[0] == pytest.approx(sums[1], rel=1e-6)
    assert sums[0] / window.num_targets == pytest.approx(math.log(66), rel=0.15)


def test_a_set_is_packed_whole(parts):
    valid = parts.valid()["valid"]
    packs = list(parts.pack_pairs(valid.source, valid.target))
    assert sum(pack.num_segments for pack in packs) == 24
    assert sum(pack.num_targets for pack in packs) == int(valid.target.offsets[-1])


def test_a_precision_that_the_device_lacks_is_wrong_input(parts):
    asked = changed(parts, step={"precision": "fp16_mixed"})
    with pytest.raises(InputError, match="needs a GPU"):
        build(asked.recipe, parts.sources, device=CPU)


# 40 steps took 400 of 200 examples (2 epochs), 4,000 target tokens and 120 seconds: one step is a twentieth of an
# epoch, 100 tokens, a twentieth of a minute.
STATE = TrainState(step=40, position=400, target_tokens=4000, seconds=120.0)


@pytest.mark.parametrize(
    ("length", "warmup"),
    [
        ("100 steps", "20 steps"),
        ("10000 tokens", "2000 tokens"),
        ("5 epochs", "1 epochs"),
        ("5 minutes", "1 minutes"),
        ("5 epochs", "20 steps"),
        ("100 steps", "1 minutes"),
    ],
)
def test_the_rate_follows_the_schedule_in_whichever_unit_it_is_written(parts, length, warmup):
    run = changed(parts, length=length, step={"schedule": {"kind": "linear_warmup", "warmup": warmup}})
    assert run.learning_rate(STATE) == pytest.approx(1e-2 * (1 - (40 - 20) / (100 - 20)))


def test_the_rate_rises_during_warmup_and_is_there_without_one(parts):
    rising = changed(parts, step={"schedule": {"kind": "linear_warmup", "warmup": "10 steps"}})
    assert [rising.learning_rate(TrainState(step=step)) for step in (0, 4, 9, 10)] == pytest.approx(
        [1e-3, 5e-3, 1e-2, 1e-2]
    )
    assert rising.learning_rate(TrainState(step=60)) == 0
    constant = changed(parts, length="3 minutes", step={"schedule": {"kind": "constant"}})
    assert constant.learning_rate(TrainState()) == constant.learning_rate(STATE) == 1e-2


@pytest.mark.parametrize("warmup", ["1000 tokens", "0.1 epochs", "0.1 minutes"])
def test_the_first_update_moves_the_weights_in_whichever_unit_warmup_is_written(parts, warmup):
    run = changed(parts, length="5 minutes", step={"schedule": {"kind": "linear_warmup", "warmup": warmup}})
    assert 0 < run.learning_rate(TrainState()) < 1e-3


def test_dropout_is_a_function_of_the_seed_and_the_step(parts):
    parts.model.train()
    pack = pack_of([[5, 6, 7, 3]], [[8, 9, 3]])

    def loss(run, step):
        run.reseed(step)
        return float(run.objective(pack).loss)

    assert loss(parts, 3) == loss(parts, 3)
    assert len({loss(parts, step) for step in range(4)}) == 4
    assert loss(changed(parts, seed=2), 3) != loss(parts, 3)


def test_on_a_cpu_the_model_itself_is_evaluated(parts):
    assert parts.fast_copy() is parts.model


@pytest.mark.parametrize("length", ["40 steps", "4000 tokens", "2 epochs", "2 minutes"])
def test_a_run_is_finished_when_its_length_is_reached(parts, length):
    run = changed(parts, length=length)
    assert run.finished(STATE)
    short = TrainState(step=39, position=399, target_tokens=3999, seconds=119.9)
    assert not run.finished(short)


def test_a_run_is_finished_when_its_patience_is_at_its_end(parts):
    run = changed(parts, evaluate={"patience": 2})
    since = [TrainState(step=1, best={"since": since}) for since in (1, 2, 3)]
    assert [run.finished(state) for state in since] == [False, True, True]
    assert not run.finished(TrainState(step=1))
    assert not parts.finished(since[2])
    assert [run.ended_early(state) for state in since] == [False, True, True]
    long_enough = changed(parts, evaluate={"patience": 2}, length="1 steps")
    assert not long_enough.ended_early(since[2])
    told = "evaluate.patience is at its end: the last 2 evaluations were no better; raise it to go on"
    assert run.end(since[1]) == told
