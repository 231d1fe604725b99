import shutil

import pytest

from trimtab.checkpoint.run_folder import RunFolder
from trimtab.checkpoint.step_folders import list_abandoned
from trimtab.progress import Silent
from trimtab.replaying.base_checkpoint import ANY_STEP, is_set_aside, sound_before, sound_of_the_branch
from trimtab.replaying.left_out import LeftOut

LEFT = LeftOut(55, (41, 80), 60)


@pytest.fixture
def run(rewound_run, tmp_path):
    return RunFolder(shutil.copytree(rewound_run, tmp_path / "run"))


def names(checkpoints):
    return [(found.step, is_set_aside(found)) for found in checkpoints]


def copy_as(run, step, *, source):
    """The committed checkpoint of a step, from the healthy run, whose steps are saved otherwise."""
    shutil.copytree(source / "checkpoints" / f"step-{step:08d}", run.checkpoints / f"step-{step:08d}")


@pytest.mark.slow
def test_the_checkpoints_of_the_run_itself_come_newest_first(run):
    assert names(sound_before(run, ANY_STEP, Silent())) == [(90, False), (80, False)]
    assert names(sound_before(run, 90, Silent())) == [(80, False)]
    assert names(sound_before(run, 80, Silent())) == []


@pytest.mark.slow
def test_a_branch_has_its_own_and_those_from_before_it_parted(run, healthy_run):
    for step in (20, 40, 60):
        copy_as(run, step, source=healthy_run)
    assert names(sound_of_the_branch(run, LEFT, Silent())) == [(50, True), (40, False), (20, False)]
    before = LeftOut(45, (41, 80), 60)
    assert names(sound_of_the_branch(run, before, Silent())) == [(40, False), (20, False)]


@pytest.mark.slow
def test_what_another_branch_left_is_not_of_this_one(run):
    assert names(sound_of_the_branch(run, LeftOut(55, (41, 80), 60, ((3, 9),)), Silent())) == []


def test_what_is_damaged_or_has_another_name_is_passed_over(run, capsys):
    (own,) = list_abandoned(run.checkpoints)
    shutil.copytree(own, own.with_name(".abandoned-step-x"))
    file = own / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1] + b"\x7f")
    told = Silent()
    told.message = lambda text: print(text)
    assert names(sound_of_the_branch(run, LEFT, told)) == []
    assert capsys.readouterr().out.startswith("not used: ")
