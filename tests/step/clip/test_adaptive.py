import json

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.reference.adaptive_clip import PlainAdaptiveClip
from trimtab.config.step import ClipAdaptive
from trimtab.step.clip.build import build_clip

NEVER, ALWAYS = torch.tensor(False), torch.tensor(True)
CONFIG = ClipAdaptive(at=1.5, decay=0.5, first=1.0, first_steps=2)
rows = st.lists(st.floats(0.125, 100, width=32), min_size=2, max_size=2)


@given(st.lists(st.tuples(rows, rows), min_size=1, max_size=6))
def test_it_equals_the_papers_algorithm(steps):
    clip = build_clip(CONFIG)
    twin = PlainAdaptiveClip(at=1.5, decay=0.5, first=1.0, first_steps=2)
    for step in steps:
        gradients = [torch.tensor(row) for row in step]
        norm, _ = clip(gradients)
        clip.after(NEVER)
        torch.testing.assert_close(norm, torch.cat([torch.tensor(row) for row in step]).norm())
        for ours, theirs in zip(gradients, twin([list(row) for row in step]), strict=True):
            torch.testing.assert_close(ours, torch.tensor(theirs), rtol=1e-4, atol=1e-6)


def test_a_skipped_step_leaves_no_trace():
    one, two = build_clip(CONFIG), build_clip(CONFIG)
    for number in range(6):
        for clip in (one, two):
            clip([torch.ones(3) * (number + 1), torch.ones(2)])
            clip.after(NEVER)
        one([torch.tensor([torch.nan, 1e9, 0.0]), torch.ones(2)])
        one.after(ALWAYS)
    assert one.to_dict() == two.to_dict()


def test_saved_as_json_it_goes_on_as_if_it_had_never_stopped():
    one, two = build_clip(CONFIG), build_clip(CONFIG)
    gradients = [[torch.rand(3) * 5, torch.rand(2)] for _ in range(8)]
    for number, step in enumerate(gradients):
        if number == 4:
            two = build_clip(CONFIG)
            two.from_dict(json.loads(json.dumps(one.to_dict())))
        for clip in (one, two):
            mine = [g.clone() for g in step]
            clip(mine)
            clip.after(NEVER)
    assert one.to_dict() == two.to_dict()


def test_what_a_loss_scale_left_is_multiplied_in_first():
    plain, scaled = build_clip(CONFIG), build_clip(CONFIG)
    for _ in range(4):
        one, two = [torch.tensor([3.0, 4.0])], [torch.tensor([300.0, 400.0])]
        norm, _ = plain(one)
        same, _ = scaled(two, unscale=torch.tensor(0.01))
        plain.after(NEVER)
        scaled.after(NEVER)
        torch.testing.assert_close(norm, same)
        torch.testing.assert_close(one, two)


@pytest.mark.parametrize("late", [1, 4])
def test_a_tensor_that_had_no_gradient_yet_moves_once_it_has_one(late):
    clip = build_clip(CONFIG)
    for number in range(6):
        one = torch.full((2,), float(number >= late))
        clip([one, torch.ones(2)])
        clip.after(NEVER)
        assert bool((one > 0).all()) == (number >= late)
    assert all(0 < average < 2 for average in clip.to_dict()["averages"])


def test_before_the_first_update_there_is_nothing_to_save():
    clip = build_clip(CONFIG)
    clip([torch.tensor([torch.inf]), torch.ones(2)])
    clip.after(ALWAYS)
    assert clip.to_dict() == {}


def test_a_checkpoint_without_its_state_makes_it_as_new():
    clip = build_clip(CONFIG)
    for _ in range(4):
        clip([torch.ones(3), torch.ones(2)])
        clip.after(NEVER)
    clip.from_dict({})
    assert clip.to_dict() == {}
    new = build_clip(CONFIG)
    for each in (clip, new):
        each([torch.ones(3) * 9, torch.ones(2)])
        each.after(NEVER)
    assert clip.to_dict() == new.to_dict()
