"""A run that is killed before any call that changes its folder, or within a step, ends as if nothing had happened."""

from pathlib import Path

import pytest

from tests.faults.counting import Count
from tests.faults.crash_points import die_everywhere

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="names open files by /proc")


@pytest.mark.parametrize(
    "every", [47, pytest.param(1, marks=pytest.mark.slow)], ids=["some points", "every point"]
)
def test_a_death_at_any_point_changes_nothing(every: int, tmp_path: Path, count: Count):
    died = die_everywhere(tmp_path, first=3, every=every)
    lost = [max(0, each.step - each.checkpoint) for each in died]
    count("crash points", tried=len(died), held=sum(each.as_undisturbed for each in died), steps_lost=lost)
    assert [each.point for each in died if not each.as_undisturbed] == []
    assert len(died) > 60 / every
    assert max(lost) <= 1 + 1  # a checkpoint each step; the one that was being written may not count
    names = " ".join(each.point for each in died)
    if every == 1:
        for part in (
            "manifest.json",
            "model.safetensors",
            "backward pass",
            "rename",
            "unlink",
            "recipe.yaml",
        ):
            assert part in names
