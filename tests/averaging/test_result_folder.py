import pytest
import torch

from trimtab.averaging.members import open_member
from trimtab.averaging.result_folder import check_result_place, plain_tokenizer, write_result
from trimtab.checkpoint.disk_space import RESUME
from trimtab.checkpoint.resolve import resolve_checkpoint
from trimtab.checkpoint.store import CheckpointStore
from trimtab.config.load import load_recipe
from trimtab.errors import DiskFull, InputError
from trimtab.inference import load_model


def test_it_is_a_run_of_the_weights_without_moments_or_a_best(run, tmp_path):
    member = open_member(f"{run}@30")
    weights = {name: tensor * 2 for name, tensor in member.load().items()}
    write_result(tmp_path / "r", weights, like=member, members=[member], tokenizer=plain_tokenizer(member))
    found = resolve_checkpoint(str(tmp_path / "r"))
    assert (found.step, found.load_optimizer(), found.load_state().best) == (30, {}, {})
    assert all(torch.equal(tensor, weights[name]) for name, tensor in found.load_model().items())
    assert found.fingerprints["averaged"] == f"{run}@30"
    assert (tmp_path / "r" / "recipe.yaml").read_bytes() == (run / "recipe.yaml").read_bytes()
    names = {path.name: path.read_bytes() for path in (tmp_path / "r" / "tokenizer").iterdir()}
    assert names == {path.name: path.read_bytes() for path in (run / "tokenizer").iterdir()}


def test_it_is_never_written_beside_other_things(run, tmp_path):
    for folder in (tmp_path / "new", tmp_path):
        check_result_place(folder)
    (tmp_path / "README.md").write_text("mine")
    for folder, words in ((tmp_path, "README.md"), (run, "checkpoints")):
        with pytest.raises(InputError, match="not empty") as caught:
            check_result_place(folder)
        (problem,) = caught.value.problems
        assert words in problem.got
        assert "--resume" not in problem.fix, "`average` has no such option"


@pytest.mark.parametrize("was_there", [False, True])
def test_a_disk_that_is_full_leaves_nothing_and_no_word_of_resuming(run, tmp_path, monkeypatch, was_there):
    def full(*_, **__):
        raise DiskFull(f"the disk is full\n  fix     {RESUME}")

    monkeypatch.setattr(CheckpointStore, "save", full)
    member, folder = open_member(f"{run}@30"), tmp_path / "r"
    if was_there:
        folder.mkdir()
    with pytest.raises(DiskFull, match="nothing was left there") as error:
        write_result(folder, member.load(), like=member, members=[member], tokenizer=plain_tokenizer(member))
    assert "--resume" not in str(error.value)
    assert [path.name for path in tmp_path.rglob("*")] == (["r"] if was_there else [])


@pytest.mark.slow
def test_of_a_run_that_evaluates_its_moving_average_the_result_means_what_was_averaged(run, tmp_path):
    recipe = (run / "recipe.yaml").read_text()
    assert "weights: raw" in recipe
    member = open_member(f"{run}@30:ema")
    evaluated = member.recipe.evaluate.model_copy(update={"weights": "ema"})
    member = type(member)(member.checkpoint, member.recipe.model_copy(update={"evaluate": evaluated}))
    write_result(
        tmp_path / "r", member.load(), like=member, members=[member], tokenizer=plain_tokenizer(member)
    )
    assert load_recipe(tmp_path / "r" / "recipe.yaml").recipe.evaluate.weights == "raw"
    mean = load_model(str(tmp_path / "r"), device="cpu").model.state_dict()
    assert all(torch.equal(tensor, member.load()[name]) for name, tensor in mean.items())
