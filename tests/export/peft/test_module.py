"""Adapters on pretrained models that transformers computes: a translator and a classifier, trained, resumed, exported,
merged, and used beside their bases."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file

from tests.label_run import label_recipe, small_texts
from tests.module_folder import module_folder
from tests.short_run import SHORT
from tests.small_run import small_recipe
from trimtab.checkpoint.resolve import resolve_checkpoint
from trimtab.decode.search import Search
from trimtab.errors import InputError
from trimtab.exporting import export_model
from trimtab.inference import load_model, load_translator
from trimtab.inference.exported import open_model
from trimtab.inference.together import load_adapted_translator
from trimtab.launch import train
from trimtab.tasks.classification.classifier import load_classifier

pytest.importorskip("peft")
pytestmark = pytest.mark.usefixtures("checks_of_data_only")

LINES = ["the small ship turns", "red boat"]
ADAPTER = {"kind": "lora", "rank": 4}
FAST = {
    "data.tokenizer": None,
    "model": {"kind": "pretrained", "path": "base"},
    "adapter": ADAPTER,
    "step.optimizer": {"kind": "adamw", "learning_rate": 0.02},
    "length": "4 steps",
    "checkpoint": {"every": "2 steps"},
}


def translator(folder, **more):
    module_folder(folder / "base", "marian")
    return small_recipe(folder, **{**SHORT, "data.max_tokens": 32, **FAST, **more})


@pytest.fixture(scope="module")
def adapted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("marian")
    return train(translator(folder), out=folder / "run").run


@pytest.fixture(scope="module")
def labelling(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bert")
    module_folder(folder / "base", "bert")
    changes = {
        **FAST,
        **SHORT,
        "data.max_tokens": 60,
        "length": "4 steps",
        "checkpoint": {"every": "2 steps"},
    }
    return train(label_recipe(folder, **changes), out=folder / "run").run


@pytest.fixture(scope="module")
def few(adapted):
    file = adapted.parent / "few.txt"
    file.write_text("\n".join(LINES))
    return {"source": file, "reference": file}


@pytest.fixture(scope="module")
def exported(adapted, few):
    report = export_model(str(adapted), to="peft", out=adapted.parent / "peft", **few)
    assert report.gate.passed
    return report.folder


def translated(base, adapter=None):
    if adapter is None:
        return [*load_translator(base, device="cpu").translate(LINES)]
    beside = load_adapted_translator([base], adapter=adapter, search=Search(beam=4), device="cpu")
    return [*beside.translate(LINES)]


def test_a_checkpoint_holds_the_adapter_alone_and_a_resumed_run_ends_with_the_same_bits(adapted, tmp_path):
    saved = resolve_checkpoint(f"{adapted}@4").load_model()
    assert saved
    assert all(".lora_" in name for name in saved)
    shutil.copytree(adapted.parent, tmp_path, dirs_exist_ok=True)
    shutil.rmtree(tmp_path / "run" / "checkpoints" / "step-00000004")
    train(tmp_path / "recipe.yaml", out=tmp_path / "run", resume=True)
    again = resolve_checkpoint(f"{tmp_path / 'run'}@4").load_model()
    assert saved.keys() == again.keys()
    assert all(torch.equal(saved[name], again[name]) for name in saved)


@pytest.mark.slow
def test_the_run_its_export_and_its_base_with_either_translate_alike(adapted, exported):
    base, own = str(adapted.parent / "base"), translated(str(adapted))
    assert own == translated(base, adapter=str(adapted)) == translated(base, adapter=str(exported))
    said = json.loads((exported / "adapter_config.json").read_text())
    assert said["target_modules"] == ["fc1", "fc2", "k_proj", "out_proj", "q_proj", "v_proj"]
    assert not (exported / "config.json").exists()
    with pytest.raises(InputError, match="an adapter without its model"):
        load_translator(str(exported))


@pytest.mark.slow
def test_an_adapter_of_a_base_in_4_bits_says_so_beside_another(adapted, exported, tmp_path, caplog):
    shutil.copytree(exported, tmp_path / "peft")
    recipe = tmp_path / "peft" / "trimtab" / "trained.yaml"
    text = recipe.read_text()
    assert text.count("  quantize_base: none\n") == 1
    base = str(adapted.parent / "base")
    open_model(base, adapter=exported, device="cpu")
    assert "E904" not in caplog.text
    recipe.write_text(text.replace("quantize_base: none", "quantize_base: nf4"))
    open_model(base, adapter=tmp_path / "peft", device="cpu")
    assert "E904" in caplog.text


@pytest.mark.slow
def test_a_merge_is_proven_by_transformers_and_is_not_the_base(adapted, tmp_path, few):
    assert export_model(str(adapted), out=tmp_path / "merged", **few).gate.passed
    merged, base = (
        load_file(folder / "model.safetensors") for folder in (tmp_path / "merged", adapted.parent / "base")
    )
    assert not any("lora" in name for name in merged)
    name = "model.decoder.layers.1.encoder_attn.q_proj.weight"
    assert not torch.equal(merged[name], base[name])


@pytest.mark.slow
def test_adapters_of_other_tools_and_other_weights_are_refused_by_name(adapted, exported, tmp_path):
    shutil.copytree(exported, tmp_path / "peft")
    shutil.rmtree(tmp_path / "peft" / "trimtab")
    with pytest.raises(InputError, match="does not say what it was trained for"):
        translated(str(adapted.parent / "base"), adapter=str(tmp_path / "peft"))
    other = module_folder(tmp_path / "other", "marian", init_std=0.2)
    with pytest.raises(InputError, match="holds other weights"):
        translated(str(other), adapter=str(adapted))
    with pytest.raises(InputError, match="takes none"):
        load_model(str(adapted), device="cpu").with_adapter(adapted)


@pytest.mark.slow
def test_a_classifier_keeps_its_head_beside_the_adapter(labelling, tmp_path):
    saved = resolve_checkpoint(f"{labelling}@4").load_model()
    head = {name for name in saved if ".lora_" not in name}
    assert head == {
        f"network.{name}.{each}"
        for name in ("classifier", "bert.pooler.dense")
        for each in ("weight", "bias")
    }
    for to in ("peft", "hf"):
        assert export_model(str(labelling), to=to, out=tmp_path / to).gate.passed
    base, texts = labelling.parent / "base", [text for text, _ in small_texts(5)]
    own = load_classifier(labelling, device="cpu").probabilities(texts)
    for adapter in (labelling, tmp_path / "peft"):
        beside = load_classifier(base, adapter=adapter, device="cpu")
        assert abs(beside.probabilities(texts) - own).max() < 1e-12
    with pytest.raises(InputError, match="no pretrained encoder"):
        load_classifier(labelling, adapter=tmp_path / "peft", device="cpu")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"adapter": {**ADAPTER, "embeddings": "train"}}, "cannot train embeddings"),
        ({"freeze": ["embeddings"]}, "an adapter freezes all weights of its model already"),
    ],
)
def test_what_an_adapter_on_a_module_cannot_do_is_refused_with_the_recipe(changes, problem, tmp_path):
    with pytest.raises(InputError, match=problem):
        train(translator(tmp_path, **changes), out=tmp_path / "run")
