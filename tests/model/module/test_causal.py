import json

import pytest
import torch
import torch.nn.functional as F

from tests.causal_folder import CAUSAL, causal_folder
from tests.module_folder import families, oracle
from tests.text_run import text_recipe
from trimtab.build import build
from trimtab.config.adapter import LoraAdapter
from trimtab.config.load import load_recipe
from trimtab.config.paths import resolve_paths
from trimtab.data.exact_text import ExactText
from trimtab.data.text_rows import no_source
from trimtab.errors import InputError
from trimtab.export.peft.module import write_adapter
from trimtab.export.trainer import greedy_texts, row_logits
from trimtab.inference.pretrained import load_pretrained
from trimtab.model.lora import adapted_maps, add_lora
from trimtab.model.module.module_model import PREFIX
from trimtab.model.peft_tensors import peft_tensors
from trimtab.progress import Silent
from trimtab.tasks.task_of import open_datasets
from trimtab.tasks.text.probing import between, one_pack, window_of
from trimtab.types import Ragged

ROWS = [[9, 70, 3, 25, 2], [40, 2, 33, 8, 91, 10, 11, 250, 13, 14, 15, 16, 17, 2], [2, 2], [5, 6, 7, 2]]
"""Labels. What pads is what ends, and stands in the middle of a text too."""
QUICK = ("gpt2", "gemma2")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder of a family and the parts of a run that begins from it, its dropout off; made once."""
    known = {}

    def of(family):
        if family not in known:
            folder = tmp_path_factory.mktemp(family)
            causal_folder(folder / "base", family)
            model = {"kind": "pretrained", "path": "base", "dropout": 0.0}
            path = text_recipe(folder, model=model, **{"data.tokenizer": None})
            recipe = resolve_paths(load_recipe(path))
            datasets = open_datasets(recipe, tokenizer_folder=folder / "tokenizer", progress=Silent())
            parts = build(recipe, datasets, device=torch.device("cpu"))
            parts.model.fill(recipe.model.path)
            known[family] = folder / "base", parts
        return known[family]

    return of


def loss_and_gradient(parts, cuts):
    """Of the rows in so many equal packs: sums over targets, divided by the targets of all of them."""
    model, total = parts.model.train(), 0.0
    whole = window_of(no_source(len(ROWS)), Ragged.of(ROWS))
    model.zero_grad()
    size = len(ROWS) // cuts
    for start in range(0, len(ROWS), size):
        found = parts.stepper.loss(model, one_pack(parts, between(whole, start, start + size)))
        (found.objective / whole.num_targets).backward()
        total += float(found.loss) / whole.num_targets
    return total, {
        name: each.grad.clone() for name, each in model.named_parameters() if each.grad is not None
    }


@pytest.mark.quick("gemma2")
@pytest.mark.parametrize("family", families(CAUSAL, quick=QUICK))
def test_a_window_has_one_loss_and_one_gradient_however_it_is_cut(made, family):
    _, parts = made(family)
    loss, gradient = loss_and_gradient(parts, 1)
    for cuts in (2, 4):
        other, cut = loss_and_gradient(parts, cuts)
        assert other == pytest.approx(loss, abs=1e-5)
        assert cut.keys() == gradient.keys()
        for name, each in gradient.items():
            assert torch.allclose(cut[name], each, atol=1e-5, rtol=1e-4), name


@pytest.mark.parametrize("family", families(CAUSAL, quick=QUICK))
def test_loss_and_gradient_are_those_of_transformers(made, family):
    """Its logits, each text alone; so caps, windows, scaled embeddings and norms of every family are computed."""
    folder, parts = made(family)
    network, total = oracle(folder), torch.zeros(())
    start = parts.datasets.tokenizers.target.start
    for row in ROWS:
        logits = network(input_ids=torch.tensor([[start, *row[:-1]]])).logits[0]
        total = total + F.cross_entropy(logits, torch.tensor(row), reduction="sum")
    count = sum(map(len, ROWS))
    loss, gradient = loss_and_gradient(parts, 1)
    (total / count).backward()
    assert loss == pytest.approx(float(total.detach()) / count, abs=1e-5)
    theirs = {PREFIX + name: each.grad for name, each in network.named_parameters()}
    turned = {PREFIX + name for name in parts.model.transposed}
    assert gradient.keys() == theirs.keys()
    for name, each in gradient.items():
        wanted = theirs[name].T if name in turned else theirs[name]
        assert torch.allclose(each, wanted, atol=1e-5, rtol=1e-4), name


@pytest.mark.quick("gpt2")
@pytest.mark.parametrize("family", families(CAUSAL, quick=QUICK))
def test_prompts_of_different_lengths_continue_as_generate_does(made, family):
    """Rows are filled up on their left, and some end before the others."""
    folder, parts = made(family)
    prompts = [[1, *row[:-1]] for row in ROWS]
    limits = [20, 12, 3, 20]
    tokenizer = ExactText(parts.datasets.tokenizers.target)
    ours = greedy_texts(parts.model.eval(), tokenizer, prompts, limits=limits)
    network = oracle(folder)
    for prompt, limit, found in zip(prompts, limits, ours, strict=True):
        written = network.generate(
            torch.tensor([prompt]), max_new_tokens=limit, do_sample=False, eos_token_id=2, pad_token_id=2,
            suppress_tokens=[0, 1],
        )[0, len(prompt) :].tolist()  # fmt: skip
        assert found == written


@pytest.mark.quick("gpt2")
@pytest.mark.parametrize("family", families(CAUSAL, quick=QUICK))
def test_an_adapter_computes_what_peft_does(made, family, tmp_path):
    """Every linear map of the layers is adapted, under the name that PEFT finds it by."""
    peft = pytest.importorskip("peft")
    folder, _ = made(family)
    model, base = load_pretrained(str(folder)).model, oracle(folder)
    linear = sum(
        1 for block in model.blocks for module in block.modules() if isinstance(module, torch.nn.Linear)
    )
    config = LoraAdapter(rank=3, alpha=6)
    add_lora(model, config, seed=5)
    assert len([*adapted_maps(model)]) == linear
    draw = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, tensor in peft_tensors(model):
            if name.endswith("lora_B.weight"):
                tensor.copy_(torch.randn(tensor.shape, generator=draw) * 0.1)
    write_adapter(model, config, base=str(folder), folder=tmp_path)
    theirs = peft.PeftModel.from_pretrained(base, tmp_path).eval()
    row = [1, *ROWS[1]]
    (ours,) = row_logits(model, [row])
    assert torch.allclose(ours, theirs(input_ids=torch.tensor([row])).logits[0], atol=2e-5)
    assert not torch.allclose(ours, oracle(folder)(input_ids=torch.tensor([row])).logits[0], atol=1e-2)


def test_a_tied_matrix_stands_once_and_one_of_its_own_apart(made):
    for family, tied in (("gpt2", True), ("gpt_neox", False)):
        _, parts = made(family)
        assert not parts.model.wrongly_tied()
        outputs = {name for name in parts.model.state_dict() if "lm_head" in name or "embed_out" in name}
        assert bool(outputs) != tied


def test_layers_in_the_files_that_config_json_does_not_have_are_refused(tmp_path):
    base = causal_folder(tmp_path / "base", "gpt2")
    settings = json.loads((base / "config.json").read_text())
    for layers, said in (
        (1, "of layers that config.json does not have: transformer.h.1."),
        (0, "n_layer is missing"),
    ):
        (base / "config.json").write_text(json.dumps({**settings, "n_layer": layers}))
        with pytest.raises(InputError, match=said):
            load_pretrained(str(base), device="cpu")
    (base / "config.json").write_text(json.dumps({**settings, "n_head": 3}))
    with pytest.raises(InputError, match=r"base/config\.json: transformers cannot build"):
        load_pretrained(str(base), device="cpu")
