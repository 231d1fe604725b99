import pytest
import torch

from tests.for_each import for_each
from tests.short_run import SHORT
from tests.small_run import small_recipe
from trimtab.config.load import load_recipe
from trimtab.device import (
    COMPILE_PAYS_FROM_TARGETS,
    choose_device,
    set_arithmetic,
    set_threads,
    wants_compile,
)
from trimtab.errors import InputError
from trimtab.launch import train


def test_a_device_is_the_one_that_is_named():
    assert choose_device("cpu") == torch.device("cpu")


@pytest.mark.parametrize(("found", "expected"), [(True, "cuda"), (False, "cpu")])
def test_without_a_name_it_is_the_gpu_where_there_is_one(monkeypatch, found, expected):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: found)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    assert choose_device() == torch.device(expected)


def test_a_rank_of_several_keeps_the_gpu_that_it_was_given(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 3)
    assert choose_device() == torch.device("cuda", 3)


@for_each("name", ["", "gpu", "cuda:x", "meta", "mps", "cpu:"])
def test_a_name_that_is_no_device_of_ours_is_wrong_input(name):
    with pytest.raises(InputError) as caught:
        choose_device(name)
    assert caught.value.problems[0].allowed.startswith("cpu, cuda")


def test_a_gpu_that_is_not_there_is_wrong_input(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match="no GPU found"):
        choose_device("cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert choose_device("cuda:1") == torch.device("cuda:1")
    with pytest.raises(InputError, match="cuda:0 to cuda:1"):
        choose_device("cuda:2")


@pytest.mark.parametrize(
    ("length", "pays"),
    [
        ("2 minutes", False),
        ("3 minutes", True),
        (f"{COMPILE_PAYS_FROM_TARGETS} tokens", True),
        (f"{COMPILE_PAYS_FROM_TARGETS - 1} tokens", False),
        (f"{COMPILE_PAYS_FROM_TARGETS // 256 + 1} steps", True),
        (f"{COMPILE_PAYS_FROM_TARGETS // 256 - 1} steps", False),
        (f"{COMPILE_PAYS_FROM_TARGETS // 1000} epochs", True),
        (f"{COMPILE_PAYS_FROM_TARGETS // 1000 - 1} epochs", False),
    ],
)
def test_compiling_pays_in_long_runs_in_whichever_unit_they_are_long(tmp_path, length, pays):
    recipe = load_recipe(small_recipe(tmp_path, length=length)).recipe
    assert wants_compile(recipe, targets_per_epoch=1000.0) is pays
    for said in ("on", "off"):
        path = small_recipe(tmp_path, length=length, **{"step.compile": said})
        assert wants_compile(load_recipe(path).recipe, targets_per_epoch=1000.0) is (said == "on")


def test_products_of_float32_are_rounded_only_where_tf32_is_named(tmp_path):
    recipe = load_recipe(small_recipe(tmp_path)).recipe
    before = torch.get_float32_matmul_precision()
    try:
        for precision, expected in (("tf32", "high"), ("fp32", "highest"), ("auto", "highest")):
            step = recipe.step.model_copy(update={"precision": precision})
            set_arithmetic(recipe.model_copy(update={"step": step}))
            assert torch.get_float32_matmul_precision() == expected
    finally:
        torch.set_float32_matmul_precision(before)


@pytest.mark.slow
def test_deterministic_kernels_are_asked_for(tmp_path):
    try:
        train(small_recipe(tmp_path, **SHORT, **{"step.deterministic": True}), out=tmp_path / "run")
        assert torch.are_deterministic_algorithms_enabled()
    finally:
        torch.use_deterministic_algorithms(False)


def test_where_a_target_is_a_whole_text_compiling_pays_by_the_tokens_of_the_texts(tmp_path):
    recipe = load_recipe(small_recipe(tmp_path, length=f"{COMPILE_PAYS_FROM_TARGETS // 40} tokens")).recipe
    assert not wants_compile(recipe, targets_per_epoch=1000.0, tokens_per_target=39.0)
    assert wants_compile(recipe, targets_per_epoch=1000.0, tokens_per_target=41.0)


def test_the_number_of_threads_is_set_for_the_process():
    before = torch.get_num_threads()
    try:
        set_threads(2)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    for wrong in (0, 100_000):
        with pytest.raises(InputError, match="threads"):
            set_threads(wrong)
