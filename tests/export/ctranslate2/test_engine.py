import builtins
import shutil

import pytest
import torch

from tests.small_run import small_pairs
from trimtab.decode.stream import stream_of
from trimtab.errors import InputError
from trimtab.export.ctranslate2.engine import open_ctranslate2, require_ctranslate2
from trimtab.export.ctranslate2.target import CTranslate2, never_written
from trimtab.export.target import Engine
from trimtab.export.trainer import token_log_probabilities
from trimtab.inference import load_model
from trimtab.types import Ragged, SearchesItself

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def model(trained_run):
    return load_model(f"{trained_run}@last", device="cpu")


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("ct2")
    CTranslate2().write(model, folder)
    return folder


def opened(folder, model, **expected):
    return open_ctranslate2(
        folder, device=CPU, never=never_written(model.tokenizer), expected=expected or None
    )


def test_it_is_an_engine_that_searches_itself(folder, model):
    engine = opened(folder, model)
    assert isinstance(engine, Engine)
    assert isinstance(engine, SearchesItself)


def test_each_token_has_the_log_probability_of_the_trainer_whatever_the_batch(folder, model, monkeypatch):
    sources, targets = zip(*small_pairs(40, seed=6), strict=True)
    source, target = (Ragged.of(model.tokenizer.encode(each)) for each in (sources, targets))
    ours = token_log_probabilities(model, source, target)
    for size in (4096, 64):
        monkeypatch.setattr("trimtab.export.ctranslate2.engine.BATCH_TOKENS", size)
        theirs = opened(folder, model).log_probabilities(source, target)
        assert list(map(len, theirs)) == list(map(len, ours))
        for one, other in zip(ours, theirs, strict=True):
            assert other == pytest.approx(one, abs=1e-5)


def test_a_target_that_is_empty_has_the_score_of_its_end(folder, model):
    source, target = Ragged.of(model.tokenizer.encode(["the old ship"])), Ragged.of([[model.tokenizer.end]])
    ours, theirs = token_log_probabilities(model, source, target), opened(folder, model)
    assert theirs.log_probabilities(source, target)[0] == pytest.approx(ours[0], abs=1e-5)


def test_sizes_that_are_known_from_elsewhere_must_be_those(folder, model):
    opened(folder, model, dim=32, encoder_layers=1, positions=32)
    with pytest.raises(InputError, match="dim 32") as caught:
        opened(folder, model, dim=64)
    assert "dim 64, as the recipe says" in caught.value.problems[0].allowed
    with pytest.raises(InputError, match="positions"):
        opened(folder, model, positions=1000)


def test_a_device_that_this_installation_does_not_have_is_wrong_input(folder, model):
    import ctranslate2

    if ctranslate2.get_cuda_device_count():
        pytest.skip("there is a GPU")
    with pytest.raises(InputError, match="finds no GPU"):
        open_ctranslate2(folder, device=torch.device("cuda"), never=())


def test_what_the_library_cannot_read_is_wrong_input(folder, model, tmp_path):
    broken = shutil.copytree(folder, tmp_path / "broken")
    content = (broken / "model.bin").read_bytes()
    (broken / "model.bin").write_bytes(content.replace(b"ffn/linear_1/weight\0", b"ffn/linear_9/weight\0"))
    with pytest.raises(InputError, match="CTranslate2 cannot read it"):
        opened(broken, model)


def test_a_run_that_asks_for_single_steps_is_told_what_there_is(folder, model):
    with pytest.raises(InputError, match="runs its own search") as caught:
        opened(folder, model).open_session(stream_of([[5, 3]], CPU), rows=1, width=1, max_length=3)
    (problem,) = caught.value.problems
    assert "sampling" in problem.got
    assert "beam search" in problem.allowed
    assert problem.fix


def test_without_ctranslate2_the_message_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **options):
        if name.partition(".")[0] == "ctranslate2":
            raise ModuleNotFoundError("No module named 'ctranslate2'", name="ctranslate2")
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InputError, match=r'pip install "trimtab\[train,ctranslate2\]"'):
        require_ctranslate2()
