"""What `trimtab doctor` says of an installation, real and described."""

import json
import subprocess
import sys
from importlib.metadata import version
from types import SimpleNamespace

import pytest

from tests.for_each import for_each
from trimtab import doctor
from trimtab.cli.app import app
from trimtab.doctor import (
    Diagnosis,
    Extra,
    Gpu,
    GpuPath,
    Package,
    diagnose,
    extras_of,
    gpu_paths,
    new_enough,
    render,
)


@pytest.fixture(scope="module")
def found() -> Diagnosis:
    return diagnose()


def test_it_names_the_versions_that_are_installed(found: Diagnosis) -> None:
    train = next(each for each in found.extras if each.name == "train")
    assert {each.name: each.installed for each in train.packages}["numpy"] == version("numpy")
    assert found.torch["version"] == version("torch")
    assert found.cores >= 1
    assert found.disk_free_gib > 0


def test_the_page_has_no_folder_of_this_machine(found: Diagnosis) -> None:
    page = render(found)
    assert sys.prefix not in page
    assert "home" not in page
    assert len(page.splitlines()) < 60


def test_json_gives_the_command_that_installs_what_is_missing() -> None:
    found = Diagnosis(
        trimtab="1",
        python="3",
        system="Linux",
        cores=1,
        memory_gib=None,
        free_memory_gib=None,
        disk_free_gib=1.0,
        extras=(
            Extra("comet", (Package("unbabel-comet", ">=2.2", None),)),
            Extra("zstd", (Package("z", "", "1"),)),
            Extra("a-name-of-any-length", (Package("y", "", None),)),
        ),
    )
    told = json.loads(json.dumps(found.to_dict()))
    assert told["extras"][0]["missing"] == ["unbabel-comet"]
    assert told["extras"][0]["install"] == 'pip install "trimtab[comet]"'
    assert told["extras"][1]["install"] is None
    page = render(found)
    assert "unbabel-comet missing (needs >=2.2)" in page
    assert "memory    unknown" in page
    assert "a-name-of-any-length y missing" in page


def test_a_gpu_is_listed_with_what_runs_on_it_and_why_not() -> None:
    paths = (
        GpuPath("bfloat16", True, "auto"),
        GpuPath("flash-attn-4", False, "is for compute capability 9.x"),
    )
    found = Diagnosis(
        trimtab="1",
        python="3",
        system="Linux",
        cores=1,
        memory_gib=2.0,
        free_memory_gib=1.0,
        disk_free_gib=1.0,
        gpus=(Gpu("L4", "8.9", 22.0, 21.0, paths),),
    )
    page = render(found)
    assert "GPU 0     L4, compute capability 8.9, 21.0 of 22.0 GiB free" in page
    assert "no  flash-attn-4" in page


def test_an_old_gpu_has_neither_bfloat16_nor_kernels() -> None:
    import torch

    paths = {each.name: each for each in gpu_paths((7, 5), torch.device("cpu"))}
    assert not any(each.runs for each in paths.values())
    assert "needs compute capability 8.0, this GPU has 7.5" in paths["bfloat16"].why


@for_each(
    ("installed", "needed", "enough"),
    [
        *[("2.11", ">=2.11", True), ("2.9.1", ">=2.11", False), ("2.13.0+cpu", ">=2.11", True)],
        *[("1.0", ">=0.16,<1", False), ("0.17", ">=0.16,<1", True), ("4.0.0b36", "==4.0.0b36", True)],
        *[("4.0.0b35", "==4.0.0b36", False), ("3", "", True), ("odd", ">=1", False), ("2.0", ">=2", True)],
    ],
)
def test_versions_are_compared_by_number(installed: str, needed: str, enough: bool) -> None:
    assert new_enough(installed, needed) is enough


def test_extras_are_read_from_metadata() -> None:
    read = extras_of(
        [
            "pydantic<3,>=2.10",
            "pytest>=8; extra == 'dev'",
            "zensical>=0.0.73; extra == 'docs'",
            'numpy>=1.26; extra == "train"',
            "trimtab[train]; extra == 'all'",
            "no-such-package>=1 ; extra == 'odd'",
        ]
    )
    assert [each.name for each in read] == ["train", "odd"]
    assert read[0].missing == ()
    assert [each.name for each in read[1].missing] == ["no-such-package"]


@pytest.mark.parametrize(
    ("done", "expected"),
    [
        (SimpleNamespace(returncode=0, stdout="560.35\n560.35\n", stderr=""), "560.35"),
        (
            SimpleNamespace(returncode=9, stdout="Couldn't talk\n", stderr=""),
            "nvidia-smi fails: Couldn't talk",
        ),
        (SimpleNamespace(returncode=3, stdout="", stderr=""), "nvidia-smi fails: exit code 3"),
    ],
)
def test_what_is_wrong_with_a_driver_is_said(
    monkeypatch: pytest.MonkeyPatch, done: SimpleNamespace, expected: str
) -> None:
    monkeypatch.setattr(doctor.shutil, "which", lambda name: "/bin/" + name)
    monkeypatch.setattr(doctor.subprocess, "run", lambda *given, **settings: done)
    assert doctor.driver() == expected


def test_a_driver_that_never_answers_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def hangs(*given: object, **settings: object) -> None:
        raise subprocess.TimeoutExpired("nvidia-smi", 5)

    monkeypatch.setattr(doctor.shutil, "which", lambda name: "/bin/" + name)
    monkeypatch.setattr(doctor.subprocess, "run", hangs)
    assert doctor.driver() == "nvidia-smi fails: TimeoutExpired"


def test_without_torch_it_says_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "find_spec", lambda name: None)
    facts = diagnose()
    assert facts.torch == {}
    assert "torch     not installed" in render(facts)
    assert 'pip install "trimtab[train]"' in render(facts)


def test_the_module_itself_imports_no_torch() -> None:
    code = "import sys, trimtab.doctor, trimtab.cli.look_up; assert not {'torch', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_there_is_such_a_command() -> None:
    assert any(
        command.callback and command.callback.__name__ == "doctor" for command in app.registered_commands
    )
