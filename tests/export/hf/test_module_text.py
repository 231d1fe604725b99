"""Language models that transformers computes: trained, resumed, exported in both forms, and used beside their bases."""

import json
import shutil

import pytest
import torch
from transformers import AutoModelForCausalLM

from tests.causal_folder import causal_folder
from tests.module_folder import families
from tests.pretrained_run import pretrained_recipe
from trimtab.checkpoint.resolve import resolve_checkpoint
from trimtab.decode.generation_config import GenerationConfig
from trimtab.exporting import export_model
from trimtab.inference.generating import load_generator
from trimtab.launch import train

pytestmark = pytest.mark.usefixtures("checks_of_data_only")
FAMILIES = families(("gpt2", "gemma2", "phi3", "opt"), quick=("gpt2",))
LORA = {"kind": "lora", "rank": 4}


@pytest.fixture(scope="module")
def trained(own_cache, tmp_path_factory):
    """The run of a family with all weights or with an adapter, and lines for the gate; made once."""
    known = {}

    def of(family, adapter=None):
        if (family, bool(adapter)) not in known:
            folder = tmp_path_factory.mktemp(family)
            causal_folder(folder / "base", family)
            (folder / "few.txt").write_text("the red ship\n\nturns the wind\n")
            changes = {"adapter": adapter} if adapter else {}
            known[family, bool(adapter)] = train(pretrained_recipe(folder, **changes), out=folder / "run").run
        return known[family, bool(adapter)]

    return of


def text_of(base, adapter=None):
    generator = load_generator(str(base), adapter=None if adapter is None else str(adapter))
    config = GenerationConfig(max_tokens=9, sampling=None)
    return next(iter(generator.generate(["the"], config))).text


@pytest.mark.slow
@pytest.mark.parametrize("adapter", [None, LORA], ids=["all weights", "adapter"])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_resumed_run_ends_with_the_same_bits(trained, family, adapter, tmp_path):
    run = trained(family, adapter)
    shutil.copytree(run.parent, tmp_path / "copy")
    again = tmp_path / "copy" / "run"
    shutil.rmtree(again / "checkpoints" / "step-00000004")
    if adapter is None:
        shutil.rmtree(tmp_path / "copy" / "base")  # its files are needed once
    train(tmp_path / "copy" / "text.yaml", out=again, resume=True)
    ours, others = (resolve_checkpoint(f"{each}@4").load_model() for each in (run, again))
    assert ours.keys() == others.keys()
    assert all(torch.equal(ours[name], others[name]) for name in ours)
    assert all(".lora_" in name for name in ours) == bool(adapter)


@pytest.mark.parametrize("family", FAMILIES)
def test_transformers_opens_what_was_trained_as_the_class_that_it_was(trained, family, tmp_path):
    run = trained(family)
    report = export_model(str(run), out=tmp_path / "hf", source=run.parent / "few.txt")
    assert report.gate.passed
    said = [
        json.loads((folder / "config.json").read_text()) for folder in (run.parent / "base", report.folder)
    ]
    assert said[0]["architectures"] == said[1]["architectures"]
    before, after = (
        AutoModelForCausalLM.from_pretrained(folder).state_dict()
        for folder in (run.parent / "base", report.folder)
    )
    assert before.keys() == after.keys()
    assert all(before[name].shape == after[name].shape for name in before)
    assert not all(torch.equal(before[name], after[name]) for name in before)
    assert text_of(report.folder) == text_of(run)


@pytest.mark.parametrize("family", FAMILIES)
def test_an_adapter_is_used_by_peft_unmerged_and_merged(trained, family, tmp_path):
    pytest.importorskip("peft")
    run = trained(family, LORA)
    few = run.parent / "few.txt"
    apart = export_model(str(run), to="peft", out=tmp_path / "peft", source=few)
    merged = export_model(str(run), out=tmp_path / "hf", source=few)
    assert apart.gate.passed
    assert merged.gate.passed
    base = run.parent / "base"
    texts = {text_of(run), text_of(base, run), text_of(base, apart.folder), text_of(merged.folder)}
    assert len(texts) == 1
