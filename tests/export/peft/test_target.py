import json

import pytest

from trimtab.decode.generation_config import GenerationConfig
from trimtab.errors import InputError
from trimtab.exporting import export_model
from trimtab.inference.generating import load_generator

pytest.importorskip("peft")


@pytest.fixture(scope="module")
def exported(lora_run, tmp_path_factory):
    return export_model(str(lora_run), to="peft", out=tmp_path_factory.mktemp("adapters") / "small")


def test_peft_computes_what_the_trainer_does(exported):
    assert exported.gate.passed
    settings = json.loads((exported.folder / "adapter_config.json").read_text())
    assert (settings["r"], settings["lora_alpha"], settings["peft_type"]) == (4, 8, "LORA")


def test_the_base_with_the_adapter_writes_what_the_run_writes(exported, lora_run):
    base, both = str(lora_run.parent / "base"), {}
    for name, given in {"run": (str(lora_run), None), "adapter": (base, str(exported.folder))}.items():
        generator = load_generator(given[0], adapter=given[1])
        both[name] = next(iter(generator.generate(["the"], GenerationConfig(max_tokens=9)))).text
    assert both["run"] == both["adapter"]


def test_merging_is_proven_by_what_transformers_reads_again(lora_run, tmp_path):
    report = export_model(str(lora_run), out=tmp_path / "merged")
    assert report.gate.passed
    assert not any("lora" in each.name for each in report.folder.iterdir())


def test_an_adapter_alone_is_no_model(exported):
    with pytest.raises(InputError, match="an adapter without its model"):
        load_generator(str(exported.folder))


def test_a_run_without_an_adapter_has_nothing_to_write(text_run, tmp_path):
    with pytest.raises(InputError, match="the run has none"):
        export_model(str(text_run), to="peft", out=tmp_path / "none")


def test_gradients_are_those_of_peft(exported, lora_run):
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    from trimtab.export.trainer import row_logits
    from trimtab.inference.load import load_model
    from trimtab.model.peft_tensors import peft_tensors

    rows = [[1, 7, 30, 99, 12, 2], [1, 5, 8, 2]]
    ours = load_model(str(lora_run), device="cpu").model.train()
    base = AutoModelForCausalLM.from_pretrained(lora_run.parent / "base", dtype=torch.float32)
    theirs = PeftModel.from_pretrained(base, exported.folder, is_trainable=True).train()
    for row in rows:
        (logits,) = row_logits(ours, [row])
        torch.nn.functional.cross_entropy(logits[:-1], torch.tensor(row[1:]), reduction="sum").backward()
        ids = torch.tensor([row])
        (theirs(input_ids=ids, labels=ids).loss * (len(row) - 1)).backward()
    wanted = {name: weight.grad for name, weight in theirs.named_parameters() if weight.requires_grad}
    found = gradients_by_name(ours, peft_tensors)
    assert found.keys() == {name.replace(".default.", ".") for name in wanted}
    for name, gradient in wanted.items():
        torch.testing.assert_close(found[name.replace(".default.", ".")], gradient, atol=1e-5, rtol=1e-4)


def gradients_by_name(model, names):
    """Gradients under PEFT's names: those of each matrix as if they were its values."""
    import copy

    twin = copy.deepcopy(model)
    for weight, other in zip(twin.parameters(), model.parameters(), strict=True):
        if other.grad is not None:
            weight.data = other.grad
    return dict(names(twin))
