import builtins
import json
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from tests.small_run import small_pairs
from trimtab.errors import InputError
from trimtab.export.byte_products import REDUCED
from trimtab.export.onnx import engine as onnx_runtime
from trimtab.export.onnx.engine import open_onnx, require_onnx
from trimtab.export.target import Engine
from trimtab.export.trainer import token_log_probabilities
from trimtab.inference import load_model, load_translator
from trimtab.types import Ragged

CPU = torch.device("cpu")
LINES = [source for source, _ in small_pairs(40, seed=9)]


@pytest.fixture(scope="module")
def pairs(trained_run):
    tokenizer = load_model(str(trained_run), device="cpu").tokenizer
    sides = zip(*small_pairs(60, seed=6), strict=True)
    return [Ragged.of(tokenizer.encode(side)) for side in sides]


@pytest.mark.slow
def test_each_token_has_the_log_probability_that_the_trainer_gives(trained_run, onnx_run, pairs):
    ours = token_log_probabilities(load_model(f"{trained_run}@last", device="cpu"), *pairs)
    engine = open_onnx(onnx_run)
    assert isinstance(engine, Engine)
    for one, other in zip(ours, engine.log_probabilities(*pairs), strict=True):
        assert other == pytest.approx(one, abs=1e-5)


def test_calls_of_several_threads_at_once_give_what_each_gives_alone(onnx_run, pairs):
    translator = load_translator(str(onnx_run), beam=3, device="cpu")
    engine = open_onnx(onnx_run)
    alone = [translator.translate(LINES[start : start + 10]) for start in range(0, 40, 10)]
    scores = engine.log_probabilities(*pairs)
    with ThreadPoolExecutor(8) as pool:
        for _ in range(3):
            texts = pool.map(translator.translate, [LINES[start : start + 10] for start in range(0, 40, 10)])
            scored = [pool.submit(engine.log_probabilities, *pairs) for _ in range(4)]
            assert list(texts) == alone
            assert all(each.result() == scores for each in scored)


def test_a_session_has_as_many_threads_as_torch(onnx_run):
    for count in (1, 2):
        before = torch.get_num_threads()
        torch.set_num_threads(count)
        try:
            engine = open_onnx(onnx_run)
        finally:
            torch.set_num_threads(before)
        options = [each.get_session_options() for each in (engine.encoder, engine.decoder)]
        assert [each.intra_op_num_threads for each in options] == [count, count]


def with_settings(folder, tmp_path, **changes):
    copy = shutil.copytree(folder, tmp_path / "copy")
    said = json.loads((copy / "onnx.json").read_text())
    (copy / "onnx.json").write_text(json.dumps({**said, **changes}))
    return copy


def test_float16_on_a_cpu_is_refused_by_name(onnx_run, tmp_path):
    with pytest.raises(InputError, match="float16, which is slow on CPUs"):
        open_onnx(with_settings(onnx_run, tmp_path, weights="float16"))


def test_int8_on_a_gpu_is_refused_by_name_and_so_is_a_gpu_without_its_library(
    onnx_run, tmp_path, monkeypatch
):
    gpu = torch.device("cuda", 0)
    with pytest.raises(InputError, match="onnxruntime without CUDA"):
        open_onnx(onnx_run, device=gpu)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr("onnxruntime.get_available_providers", lambda: [onnx_runtime.GPU, onnx_runtime.CPU])
    with pytest.raises(InputError, match="int8, which has no kernels on GPUs"):
        open_onnx(with_settings(onnx_run, tmp_path, weights="int8"), device=gpu)


def test_weights_whose_products_spill_over_on_this_processor_are_refused(onnx_run, tmp_path, monkeypatch):
    folder = with_settings(onnx_run, tmp_path, weights="int8")
    monkeypatch.setattr(onnx_runtime, "largest_weight", lambda: REDUCED)
    with pytest.raises(InputError, match="no VNNI") as caught:
        open_onnx(folder)
    assert "int8_reduced" in caught.value.problems[0].fix


def test_symbols_and_sizes_that_are_known_from_elsewhere_must_be_those(onnx_run):
    for key in ("start", "end", "pad", "unknown"):
        with pytest.raises(InputError, match=f"{key} "):
            open_onnx(onnx_run, expected={key: 17})
    with pytest.raises(InputError, match="layers 1"):
        open_onnx(onnx_run, expected={"layers": 3})


def test_what_the_library_cannot_load_is_wrong_input_and_nothing_is_written_beside_it(
    onnx_run, tmp_path, capfd
):
    import onnx

    copy = shutil.copytree(onnx_run, tmp_path / "copy")
    graph = onnx.load(copy / "encoder.onnx", load_external_data=False)
    graph.graph.node[5].input[0] = "nowhere"
    (copy / "encoder.onnx").write_bytes(graph.SerializeToString())
    with pytest.raises(InputError, match=r"encoder\.onnx: not a graph of this export"):
        open_onnx(copy)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", ["onnx", "onnxruntime"])
def test_without_a_library_the_message_says_what_to_install(monkeypatch, name):
    real = builtins.__import__

    def without(wanted, *rest, **options):
        if wanted.partition(".")[0] == name:
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)
        return real(wanted, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InputError, match=r'pip install "trimtab\[train,onnx\]"'):
        require_onnx()
