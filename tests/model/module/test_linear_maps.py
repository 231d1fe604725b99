"""Adapters on modules of transformers: PEFT, on the same folder, computes the same."""

import json

import pytest
import torch
from safetensors.torch import save_file

from tests.label_run import label_sources, small_texts
from tests.module_folder import ENCODERS, LANGUAGES, SEQ2SEQ, families, module_folder
from tests.small_run import small_pairs, small_sources
from trimtab.build import build
from trimtab.config.pretrained.map_names import target_of
from trimtab.errors import InputError
from trimtab.export.peft.module import head_modules, opened_network
from trimtab.inference.adapter_folder import put_adapter
from trimtab.model.lora import adapted_maps, begin_adapter, merged_copy
from trimtab.model.module.module_model import PREFIX
from trimtab.model.peft_tensors import peft_settings_of_module, peft_tensors
from trimtab.tasks.text.probing import one_pack, window_of
from trimtab.types import Ragged

peft = pytest.importorskip("peft")
PAIRS = small_pairs(4, seed=3)
KINDS = [{}, {"dora": True}, {"rslora": True, "targets": ["q_proj", "down_proj"]}, {"quantize_base": "nf4"}]
QUICK = [("marian", KINDS[1]), ("t5", KINDS[3]), ("bert", KINDS[2]), ("bert", KINDS[3])]
CASES = [
    pytest.param(family, kind, marks=[] if (family, kind) in QUICK else pytest.mark.slow)
    for family in (*SEQ2SEQ, *ENCODERS)
    for kind in KINDS
]


def filled_parts(folder, family, **adapter):
    """Parts of a run with an adapter as after some training, its dropout off."""
    module_folder(folder / "base", family)
    recipe, datasets = (label_sources if family in ENCODERS else small_sources)(
        folder,
        model={"kind": "pretrained", "path": "base", "dropout": 0.0},
        adapter={"kind": "lora", "rank": 4, "alpha": 8, **adapter},
        **{"data.max_tokens": 60, "data.tokenizer": LANGUAGES.get(family)},
    )
    parts = build(recipe, datasets, device=torch.device("cpu"))
    parts.model.fill(recipe.model.path)
    begin_adapter(parts.model)
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for name in sorted(parts.model.begins_zero):
            weight = parts.model.get_parameter(name)
            weight.copy_(torch.randn(weight.shape, generator=generator) * 0.1)
    return parts


def saved(parts, folder):
    folder.mkdir()
    recipe = parts.recipe
    settings = peft_settings_of_module(recipe.adapter, parts.model, base=recipe.model.path)
    (folder / "adapter_config.json").write_text(json.dumps(settings))
    tensors = {name: each.detach().clone().contiguous() for name, each in peft_tensors(parts.model)}
    save_file(tensors, folder / "adapter_model.safetensors")
    return folder


def objective_of_pairs(parts, network):
    """The smoothed loss per target by the trainer and by transformers."""
    sides = parts.datasets.tokenizers
    window = window_of(
        Ragged.of(sides.source.encode([one for one, _ in PAIRS])),
        Ragged.of(sides.target.encode([other for _, other in PAIRS])),
    )
    own = parts.stepper.loss(parts.model, one_pack(parts, window)).objective / window.num_targets
    total = torch.zeros(())
    for number in range(len(PAIRS)):
        labels = window.target.row(number).tolist()
        logits = network(
            input_ids=torch.tensor([window.source.row(number).tolist()]),
            decoder_input_ids=torch.tensor([[sides.target.start, *labels[:-1]]]),
        ).logits[0]
        total = total + torch.nn.functional.cross_entropy(
            logits, torch.tensor(labels), reduction="sum", label_smoothing=parts.recipe.loss.label_smoothing
        )
    return own, total / window.num_targets


def objective_of_texts(parts, network):
    """The loss of five texts by the trainer and by transformers."""
    rows = parts.datasets.reader.rows([text for text, _ in small_texts(5)])
    labels = torch.arange(5) % parts.model.num_ids
    (batch,) = parts.batching.whole_set(rows, labels.numpy().astype("int32"))
    scores = parts.model(batch)[:5] @ parts.model.output_matrix.T
    theirs = torch.cat(
        [network(input_ids=torch.tensor([rows.row(each).tolist()])).logits for each in range(5)]
    )
    torch.testing.assert_close(scores, theirs, atol=1e-5, rtol=1e-5)
    entropy = torch.nn.functional.cross_entropy
    return entropy(scores, labels), entropy(theirs, labels)


@pytest.mark.quick("marian-kind1")
@pytest.mark.parametrize(("family", "kind"), CASES)
def test_loss_and_gradients_are_those_of_peft(family, kind, tmp_path):
    import transformers

    parts, encodes = filled_parts(tmp_path, family, **kind), family in ENCODERS
    form = transformers.AutoModelForSequenceClassification if encodes else transformers.AutoModelForSeq2SeqLM
    bits, more = (
        (4 if "quantize_base" in kind else 32),
        {"num_labels": parts.model.num_ids} if encodes else {},
    )
    folder = saved(parts, tmp_path / "adapter")
    network = opened_network(form, folder, bits=bits, skipped=head_modules(parts.model), **more)
    trained = [weight for name, weight in network.named_parameters() if ".default" in name]
    for weight in trained:
        weight.requires_grad = True
    own, theirs = (objective_of_texts if encodes else objective_of_pairs)(parts, network)
    assert float(own) == pytest.approx(float(theirs), abs=1e-5)
    (own + theirs).backward()
    wanted = {
        name.replace(".default", "").replace("modules_to_save.", ""): weight.grad
        for name, weight in network.named_parameters()
        if ".default" in name
    }
    found = own_gradients(parts.model)
    assert found.keys() == wanted.keys()
    for name, gradient in wanted.items():
        torch.testing.assert_close(found[name], gradient, atol=1e-5, rtol=1e-4)


def own_gradients(model):
    """By the names that the parameters have in a network of PEFT."""
    found = {name.removeprefix(PREFIX): model.get_parameter(name).grad for name in model.head_names}
    for each in adapted_maps(model):
        path = each.name.removeprefix(PREFIX)
        found[f"{path}.lora_A.weight"] = each.linear.lora_a.weight.grad
        found[f"{path}.lora_B.weight"] = each.linear.lora_b[0].weight.grad
        if each.linear.magnitude is not None:
            found[f"{path}.lora_magnitude_vector.weight"] = each.linear.magnitude.grad
    return found


@pytest.mark.quick("marian")
@pytest.mark.parametrize("family", families(("marian", "bert", "distilbert"), quick=("marian", "bert")))
def test_an_adapter_comes_back_from_its_files_and_merged_computes_the_same(family, tmp_path):
    parts = filled_parts(tmp_path / "one", family)
    folder = saved(parts, tmp_path / "adapter")
    plain = filled_parts(tmp_path / "two", family, rank=2)
    model = merged_copy(plain.model)
    model.fill(parts.recipe.model.path)
    put_adapter(model, folder, base="base")
    again, tensors = dict(peft_tensors(model)), dict(peft_tensors(parts.model))
    assert again.keys() == tensors.keys()
    assert all(torch.equal(again[name], tensors[name]) for name in tensors)
    for one, other in ((parts.model, merged_copy(parts.model)), (parts.model, model)):
        if family == "marian":
            window = window_of(
                Ragged.of(parts.datasets.tokenizers.source.encode([PAIRS[0][0]])),
                Ragged.of(parts.datasets.tokenizers.target.encode([PAIRS[0][1]])),
            )
            batch = one_pack(parts, window)
        else:
            rows = parts.datasets.reader.rows([text for text, _ in small_texts(3)])
            (batch,) = parts.batching.whole_set(rows, torch.zeros(3).numpy().astype("int32"))
        with torch.no_grad():
            torch.testing.assert_close(one.eval()(batch), other.eval()(batch), atol=1e-5, rtol=1e-5)


@pytest.mark.slow
def test_matrices_that_a_model_does_not_have_are_named(tmp_path):
    parts = filled_parts(tmp_path / "one", "marian")
    folder = saved(parts, tmp_path / "adapter")
    other = merged_copy(filled_parts(tmp_path / "two", "t5").model)
    with pytest.raises(InputError, match="not an adapter of this model"):
        put_adapter(other, folder, base="base")


def test_maps_are_known_by_the_longest_ending():
    names = {
        "attention.output.dense": "o_proj",
        "output.dense": "down_proj",
        "layer.1.EncDecAttention.o": "o_proj",
        "layer.2.DenseReluDense.wi_0": "gate_proj",
        "attention.q_lin": "q_proj",
        "classifier": None,
        "photo": None,
    }
    assert {name: target_of(name) for name in names} == names
