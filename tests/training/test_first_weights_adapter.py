import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.pretrained_run import pretrained_recipe
from trimtab.averaging.average import average
from trimtab.checkpoint.resolve import resolve_checkpoint
from trimtab.errors import InputError
from trimtab.inference.load import load_model
from trimtab.launch import train

pytestmark = pytest.mark.usefixtures("checks_of_data_only")


def resumed(lora_run, tmp_path):
    shutil.copytree(lora_run.parent / "base", tmp_path / "base")
    shutil.copytree(lora_run, tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "checkpoints" / "step-00000004")
    train_files = [{"text": str(lora_run.parent / "train.txt")}]
    return pretrained_recipe(tmp_path, adapter={"rank": 4, "alpha": 8}, **{"data.train": train_files})


@pytest.mark.slow
def test_a_run_with_an_adapter_saves_it_alone_and_ends_with_the_same_bits_after_a_resume(lora_run, tmp_path):
    train(resumed(lora_run, tmp_path), out=tmp_path / "run", resume=True)
    one, other = (resolve_checkpoint(f"{run}@4").load_model() for run in (lora_run, tmp_path / "run"))
    assert one
    assert all(".lora_" in name for name in one)
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_another_base_than_the_run_began_with_is_refused(lora_run, tmp_path):
    recipe = resumed(lora_run, tmp_path)
    weights = tmp_path / "base" / "model.safetensors"
    save_file({name: each + 1 for name, each in load_file(weights).items()}, weights)
    with pytest.raises(InputError, match=r"base holds other weights"):
        train(recipe, out=tmp_path / "run", resume=True)


def test_adapters_are_not_averaged(lora_run, tmp_path):
    with pytest.raises(InputError, match="it is an adapter"):
        average([f"{lora_run}@2", f"{lora_run}@4"], out=tmp_path / "mean")


def test_a_base_that_is_gone_is_named_with_the_run_and_a_way_back_that_works(lora_run, tmp_path):
    resumed(lora_run, tmp_path)
    record = tmp_path / "run" / "recipe.yaml"
    record.write_text(record.read_text().replace(str(lora_run.parent / "base"), str(tmp_path / "gone")))
    with pytest.raises(
        InputError, match=f"{tmp_path}/run: the base model of its adapter is missing from"
    ) as error:
        load_model(str(tmp_path / "run"), device="cpu")
    (problem,) = error.value.problems
    assert problem.what.endswith(str(tmp_path / "gone"))
    assert problem.fix == f"put it back, or set `model.path` in {record} to its new path"
    record.write_text(record.read_text().replace(str(tmp_path / "gone"), str(tmp_path / "base")))
    assert load_model(str(tmp_path / "run"), device="cpu").recipe.adapter is not None
