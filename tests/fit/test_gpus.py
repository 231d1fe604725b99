import shutil
import subprocess

import pytest

from trimtab.errors import InputError
from trimtab.fit.gpus import ALIASES, GPUS, described, find_gpu, local_gpu, of_memory
from trimtab.fit.memory_size import GIB


def test_every_card_is_found_by_its_name_however_it_is_written():
    for gpu in GPUS:
        assert find_gpu(gpu.name) is gpu
        assert find_gpu(gpu.name.upper().replace("-", " ")) is gpu
    assert {find_gpu(alias).name for alias in ALIASES} == {*ALIASES.values()}
    assert find_gpu("NVIDIA GeForce RTX 4090").name == "rtx-4090"


def test_cards_are_distinct_and_plausible():
    assert len({gpu.name for gpu in GPUS}) == len(GPUS)
    for gpu in GPUS:
        assert 4 < gpu.memory_gib < 400
        assert 10 < gpu.teraflops < 5000
        assert 100 < gpu.gigabytes_per_second < 20000
        assert gpu.source


def test_an_unknown_card_is_told_with_the_nearest_names():
    with pytest.raises(InputError, match="rtx-4090"):
        find_gpu("rtx-4900")
    with pytest.raises(InputError, match="--memory 24GB"):
        find_gpu("potato")
    with pytest.raises(InputError, match="nothing"):
        find_gpu("")


def test_a_card_of_which_only_the_memory_is_known_has_the_speed_of_the_nearest():
    found = of_memory(24 * GIB)
    assert found.memory == 24 * GIB
    assert found.teraflops in {gpu.teraflops for gpu in GPUS if 20 < gpu.memory_gib < 32}


@pytest.mark.parametrize(
    ("said", "rates_of"),
    [
        ("NVIDIA H200, 143771, 9.0\n", "h200"),
        ("NVIDIA GeForce RTX 4090, 24564, 8.9\n", "rtx-4090"),
        ("NVIDIA A100-SXM4-40GB, 40960, 8.0\nNVIDIA A100-SXM4-40GB, 40960, 8.0\n", "a100-40gb"),
        ("NVIDIA L40S, 46068, 8.9\n", "l40s"),
        ("NVIDIA L4, 23034, 8.9\n", "l4"),
        ("Tesla T4, 15109, 7.5\n", "t4"),
    ],
)
def test_the_local_card_is_what_its_driver_says(monkeypatch, said, rates_of):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(shutil, "which", lambda _: "nvidia-smi")
    done = subprocess.CompletedProcess([], 0, said, "")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    found, known = local_gpu(), find_gpu(rates_of)
    assert found is not None
    assert found.teraflops == known.teraflops
    assert abs(found.memory_gib / known.memory_gib - 1) < 0.02


@pytest.mark.parametrize(
    ("shown", "asked"),
    [(None, []), ("1", ["-i", "1"]), ("3,0", ["-i", "3"]), (" GPU-8f ", ["-i", "GPU-8f"])],
)
def test_the_local_card_is_the_first_that_is_shown(monkeypatch, shown, asked):
    if shown is None:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    else:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", shown)
    monkeypatch.setattr(shutil, "which", lambda _: "nvidia-smi")
    commands = []

    def run(command, **_):
        commands.append(command)
        return subprocess.CompletedProcess([], 0, "NVIDIA H200, 143771, 9.0\n", "")

    monkeypatch.setattr(subprocess, "run", run)
    assert local_gpu() is not None
    assert commands[0][3:] == asked


@pytest.mark.parametrize("shown", ["", " ", "-1", "-1,0"])
def test_where_no_card_is_shown_there_is_none(monkeypatch, shown):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", shown)
    monkeypatch.setattr(shutil, "which", lambda _: "nvidia-smi")
    done = subprocess.CompletedProcess([], 0, "NVIDIA H200, 143771, 9.0\n", "")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    assert local_gpu() is None


@pytest.mark.parametrize("said", ["", "No devices were found", "a, b", "NVIDIA X, [N/A], 9.0"])
def test_a_driver_that_says_nothing_useful_means_no_card(monkeypatch, said):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(shutil, "which", lambda _: "nvidia-smi")
    done = subprocess.CompletedProcess([], 0, said, "")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    assert local_gpu() is None


def test_a_driver_that_hangs_or_fails_means_no_card(monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(shutil, "which", lambda _: "nvidia-smi")
    for error in (subprocess.TimeoutExpired([], 5), subprocess.CalledProcessError(9, []), OSError()):

        def fail(*_, error=error, **__):
            raise error

        monkeypatch.setattr(subprocess, "run", fail)
        assert local_gpu() is None
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert local_gpu() is None


def test_a_card_that_is_not_in_the_table_has_the_rates_of_one_with_as_much_memory():
    assert described("Some Card", 23.0, 8.0).teraflops in {gpu.teraflops for gpu in GPUS}
