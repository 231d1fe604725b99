import inspect
import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import get_origin

import pytest
from hypothesis import settings
from hypothesis.internal import charmap
from hypothesis.internal.conjecture import providers
from hypothesis.internal.intervalsets import IntervalSet

from tests.checked_calls import install
from tests.one_thread import keep_to_one_thread
from tests.shared_folder import shared_folder
from tests.small_run import small_recipe
from tests.text_run import trained_text_run

# First of all: nothing has imported torch yet.
keep_to_one_thread()
install()

pytest_plugins = ["tests.suite"]

# The same examples at every run, so that a failure belongs to the change that it is seen with, and none by the clock.
# `just explore` draws others, and many more. hypothesis would also draw numbers and texts that stand in the
# modules that are imported so far, of whose sources it parses all: what a test sees would be a matter of those that ran
# before it.
settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=12)
settings.register_profile("explore", deadline=None, print_blob=True, max_examples=200)
settings.load_profile("repeatable")
providers._get_local_constants = lambda: providers._local_constants
# hypothesis tries to encode each character there is, 4 s in each process where it has not done so before.
UTF_8 = (IntervalSet([(0, 0xD7FF), (0xE000, 0x10FFFF)]), IntervalSet([]))
intervals_from_codec = charmap.intervals_from_codec
if get_origin(inspect.get_annotations(intervals_from_codec)["return"]) is tuple:
    charmap.intervals_from_codec = lambda name: UTF_8 if name == "utf-8" else intervals_from_codec(name)

# A job in the background of a shell begins with SIGINT ignored, one of nohup with SIGHUP, and both hand this on: tests
# that interrupt a child would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="session", autouse=True)
def no_wait_for_disks() -> Iterator[None]:
    """Nobody pulls the plug on this process, and to wait for the disk is half of a short run.

    Tests of what is synced when put their own function in this place; commands in children do wait.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: os.fstat(descriptor) and None)
        yield


@pytest.fixture(scope="session", autouse=True)
def texts_parsed_once() -> Iterator[None]:
    """Most tests read the same few recipes, and to parse one takes longer than a step of its training."""
    from trimtab.config import read_yaml  # late: the process that hands tests to others needs no trimtab

    compose, kept = read_yaml._compose, {}

    def composed(text: str, name: str) -> object:
        if (node := kept.get(text)) is None:
            node = compose(text, name)
            if len(text) < 4000 and len(kept) < 1000:
                kept[text] = node
        return node

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(read_yaml, "_compose", composed)
        yield


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Line indexes of all tests go to a folder of the session, never to the user's."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setenv("TRIMTAB_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="session")
def trained_run(own_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run of `small_recipe`, with checkpoints of the steps 20, 40 and 60.

    It belongs to all tests: copy it before you change anything in it.
    """
    from trimtab.launch import train  # late: tests of the light half need no torch

    def make(folder: Path) -> None:
        train(small_recipe(folder), out=folder / "run")

    return shared_folder(tmp_path_factory, "small", make) / "run"


@pytest.fixture
def copied_run(trained_run: Path, tmp_path: Path) -> tuple[Path, Path]:
    """A copy of the trained run, and the recipe it came from."""
    shutil.copytree(trained_run, tmp_path / "run")
    return tmp_path / "run", trained_run.parent / "recipe.yaml"


@pytest.fixture(scope="module")
def checks_of_data_only() -> Iterator[None]:
    """`model_unchecked` for the tests of a module, and for the runs that it makes for them all."""
    from tests.unchecked import model_unchecked

    with model_unchecked():
        yield


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    """A recipe of four steps, one checkpoint at their end."""
    from tests.short_run import SHORT

    return small_recipe(tmp_path, **SHORT)


@pytest.fixture(scope="session")
def few_samples() -> Iterator[None]:
    """Exports are compared on 40 samples instead of 200, which took most of the time of an export here; a test that is
    about all of them asks for `all_samples`."""
    from trimtab.export import samples  # late: tests of the light half need no torch

    with pytest.MonkeyPatch.context() as patch:
        for function in (samples.gate_lines, samples.gate_texts):
            patch.setitem(function.__kwdefaults__, "count", 40)
        yield


@pytest.fixture
def all_samples(few_samples: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exports are compared on as many samples as those of users."""
    from trimtab.export import samples

    for function in (samples.gate_lines, samples.gate_texts):
        monkeypatch.setitem(function.__kwdefaults__, "count", samples.SAMPLES)


@pytest.fixture(scope="session")
def exported_run(few_samples: None, trained_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The last checkpoint of `trained_run` in the form of transformers; copy it before you change anything in it."""
    from trimtab.exporting import export_model

    def make(folder: Path) -> None:
        export_model(f"{trained_run}@last", out=folder / "small_hf")

    return shared_folder(tmp_path_factory, "exports", make) / "small_hf"


@pytest.fixture(scope="session")
def onnx_run(few_samples: None, trained_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same checkpoint in the form of ONNX; copy it before you change anything in it."""
    from trimtab.exporting import export_model

    def make(folder: Path) -> None:
        export_model(f"{trained_run}@last", to="onnx", out=folder / "small")

    return shared_folder(tmp_path_factory, "onnx", make) / "small"


@pytest.fixture(scope="session")
def text_run(own_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run of `text_recipe`, a language model; copy it before you change anything in it."""
    return shared_folder(tmp_path_factory, "text", trained_text_run) / "run"


@pytest.fixture(scope="session")
def exported_text(few_samples: None, text_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same model in the form of transformers; copy it before you change anything in it."""
    from trimtab.exporting import export_model

    def make(folder: Path) -> None:
        export_model(str(text_run), out=folder / "text_hf")

    return shared_folder(tmp_path_factory, "text_exports", make) / "text_hf"


@pytest.fixture(scope="session")
def lora_run(own_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run that trained an adapter, with checkpoints of the steps 2 and 4, beside `base`, the
    pretrained model; copy it before you change anything in it."""
    from tests.pretrained_folder import pretrained_folder
    from tests.pretrained_run import pretrained_recipe
    from trimtab.launch import train  # late: tests of the light half need no torch

    def make(folder: Path) -> None:
        pretrained_folder(folder / "base")
        train(pretrained_recipe(folder, adapter={"rank": 4, "alpha": 8}), out=folder / "run")

    return shared_folder(tmp_path_factory, "lora", make) / "run"


@pytest.fixture(scope="session")
def box_run(own_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small detector that is trained for two steps, beside what its checks found, in found.json."""
    from tests.box_run import box_recipe
    from trimtab.launch import train  # late: tests of the light half need no torch

    def make(folder: Path) -> None:
        found = train(box_recipe(folder), out=folder / "run").findings
        (folder / "found.json").write_text(json.dumps([f"{each.code} {each.message}" for each in found]))

    return shared_folder(tmp_path_factory, "boxes_trained", make) / "run"
