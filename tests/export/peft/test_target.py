import json

import pytest

from tests.pretrained_folder import pretrained_folder
from tests.pretrained_run import pretrained_recipe
from trimtab.decode.generation_config import GenerationConfig
from trimtab.errors import InputError
from trimtab.exporting import export_model
from trimtab.inference.generating import load_generator, with_adapter
from trimtab.launch import train

pytest.importorskip("peft")
pytestmark = pytest.mark.usefixtures("checks_of_data_only")


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    """Lines that the gate reads; those that it takes by itself are many."""
    file = tmp_path_factory.mktemp("lines") / "few.txt"
    file.write_text("the red ship\n\nturns the wind\n")
    return file


@pytest.fixture(scope="module")
def exported(lora_run, few, tmp_path_factory):
    return export_model(
        str(lora_run), to="peft", out=tmp_path_factory.mktemp("adapters") / "small", source=few
    )


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


def test_merging_is_proven_by_what_transformers_reads_again(lora_run, tmp_path, few):
    report = export_model(str(lora_run), out=tmp_path / "merged", source=few)
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


@pytest.mark.quick("nf4_dora")
@pytest.mark.parametrize(
    "adapter",
    [
        pytest.param({"dora": True}, marks=pytest.mark.slow, id="dora"),
        pytest.param({"quantize_base": "nf4"}, marks=pytest.mark.slow, id="nf4"),
        pytest.param({"quantize_base": "nf4", "dora": True}, id="nf4_dora"),
        pytest.param({"embeddings": "train"}, id="embeddings"),
    ],
)
def test_every_kind_computes_in_peft_and_merged_what_it_does_in_the_trainer(
    adapter, tmp_path, few, monkeypatch
):
    """The gate compares all logits within 1e-4; that of a merge is read from the saved files again."""
    modules = pytest.importorskip("bitsandbytes").nn.modules
    # Of a CPU with products in bfloat16, for which bitsandbytes would pack the matrices anew.
    monkeypatch.setattr(modules, "has_avx512bf16", lambda: True, raising=False)
    pretrained_folder(tmp_path / "base")
    fast = {"step.optimizer": {"kind": "adamw", "learning_rate": 0.01}, "length": "2 steps"}
    recipe = pretrained_recipe(tmp_path, adapter={"rank": 4, **adapter}, **fast)
    run = train(recipe, out=tmp_path / "run").run
    for to in ("peft", "hf"):
        report = export_model(str(run), to=to, out=tmp_path / to, source=few)
        assert report.gate.worst_logit < 1e-5
    if adapter.get("quantize_base") == "nf4":
        return
    base = load_generator(str(tmp_path / "base"))
    own, beside = load_generator(str(run)), with_adapter(base, tmp_path / "peft")
    asked = GenerationConfig(max_tokens=9)
    assert _text(own, asked) == _text(beside, asked) != _text(base, asked)


def _text(generator, asked):
    return next(iter(generator.generate(["the"], asked))).text


@pytest.mark.quick("given1")
@pytest.mark.parametrize("given", [{}, {"dora": True}])
def test_gradients_of_each_kind_are_those_of_peft(given, tmp_path):
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    from trimtab.config.adapter import LoraAdapter
    from trimtab.export.trainer import row_logits
    from trimtab.inference.pretrained import load_pretrained
    from trimtab.model.lora import add_lora
    from trimtab.model.peft_tensors import peft_tensors

    pretrained_folder(tmp_path / "base")
    ours = load_pretrained(str(tmp_path / "base"), device="cpu").model.train()
    add_lora(ours, LoraAdapter(rank=4, alpha=8, **given), seed=1)
    config = LoraConfig(r=4, lora_alpha=8, target_modules="all-linear", use_dora=bool(given))
    theirs = get_peft_model(
        AutoModelForCausalLM.from_pretrained(tmp_path / "base", dtype=torch.float32), config
    ).train()
    named = {name.replace(".default", ""): weight for name, weight in theirs.named_parameters()}
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for name, rows in peft_tensors(ours):
            drawn = torch.randn(rows.shape, generator=generator) * 0.1
            rows.copy_(rows + drawn if "magnitude" in name else drawn)
            named[_in_model(name)].copy_(rows)
    row = [1, 7, 30, 99, 12, 2]
    (logits,) = row_logits(ours, [row])
    found = theirs(input_ids=torch.tensor([row])).logits[0]
    torch.testing.assert_close(logits, found, atol=1e-5, rtol=1e-5)
    for each in (logits, found):
        torch.nn.functional.cross_entropy(each[:-1], torch.tensor(row[1:]), reduction="sum").backward()
    for name, gradient in gradients_by_name(ours, peft_tensors).items():
        torch.testing.assert_close(gradient, named[_in_model(name)].grad, atol=1e-5, rtol=1e-4)


def _in_model(name):
    return name + ".weight" if name.endswith("magnitude_vector") else name


def gradients_by_name(model, names):
    """Gradients under PEFT's names: those of each matrix as if they were its values."""
    import copy

    twin = copy.deepcopy(model)
    for weight, other in zip(twin.parameters(), model.parameters(), strict=True):
        if other.grad is not None:
            weight.data = other.grad
    return dict(names(twin))
