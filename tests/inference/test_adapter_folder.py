import json

import pytest
import torch
from safetensors.torch import save_file

from tests.for_each import for_each
from tests.model.test_lora import adapted, decoder, filled, logits
from tests.pretrained_folder import pretrained_folder, tensors
from tests.pretrained_run import pretrained_recipe
from trimtab.config.adapter import LoraAdapter
from trimtab.config.load import load_recipe
from trimtab.config.render import render_recipe
from trimtab.errors import InputError
from trimtab.export.trainer import row_logits
from trimtab.inference.adapter_folder import put_adapter
from trimtab.inference.generating import load_generator, with_adapter
from trimtab.inference.pretrained import load_pretrained
from trimtab.model.lora import add_lora
from trimtab.model.peft_tensors import peft_settings, peft_tensors


@pytest.fixture
def folder(tmp_path):
    model = filled(adapted())
    tensors = {name: each.detach().contiguous() for name, each in peft_tensors(model)}
    save_file(tensors, tmp_path / "adapter_model.safetensors")
    settings = peft_settings(LoraAdapter(rank=4, alpha=8), base="base")
    (tmp_path / "adapter_config.json").write_text(json.dumps(settings))
    return tmp_path


def test_the_adapter_of_a_folder_computes_what_it_learned(folder):
    model = decoder()
    put_adapter(model, folder, base="base")
    assert torch.equal(logits(model), logits(filled(adapted())))
    with pytest.raises(InputError, match="takes none"):
        put_adapter(model, folder, base="base")


def test_a_folder_without_a_whole_adapter_is_refused(folder):
    (folder / "adapter_model.safetensors").write_bytes(b"no")
    with pytest.raises(InputError, match="not a complete safetensors file"):
        put_adapter(decoder(), folder, base="base")
    (folder / "adapter_config.json").write_text("{")
    with pytest.raises(InputError, match="not valid JSON"):
        put_adapter(decoder(), folder, base="base")
    with pytest.raises(InputError, match="holds no adapter"):
        put_adapter(decoder(), folder / "none", base="base")


def test_python_and_the_command_line_refuse_an_adapter_of_other_weights_alike(tmp_path):
    bases = [pretrained_folder(tmp_path / name) for name in ("one", "other")]
    save_file(
        tensors(json.loads((bases[1] / "config.json").read_text()), seed=2), bases[1] / "model.safetensors"
    )
    base = load_pretrained(str(bases[0]), device="cpu")
    put = tmp_path / "adapter"
    (put / "trimtab").mkdir(parents=True)
    add_lora(base.model, LoraAdapter(rank=4), seed=1)
    save_file(
        {name: each.detach().contiguous() for name, each in peft_tensors(base.model)},
        put / "adapter_model.safetensors",
    )
    (put / "adapter_config.json").write_text(json.dumps(peft_settings(LoraAdapter(rank=4), base="one")))
    known = {"kind": "pretrained", "path": str(bases[0]), "sha256": base.sha256}
    trained = load_recipe(pretrained_recipe(tmp_path, model=known)).recipe
    (put / "trimtab/trained.yaml").write_text(render_recipe(trained))

    def loaded(base):
        return load_generator(str(base), device="cpu", adapter=str(put))

    def joined(base):
        return with_adapter(load_generator(str(base), device="cpu"), put)

    said = []
    for adapted_generator in (loaded, joined):
        assert next(iter(adapted_generator(bases[0]).generate(["the"]))).prompt == "the"
        with pytest.raises(InputError, match="was trained on other weights than those of") as error:
            adapted_generator(bases[1])
        said.append(str(error.value))
    assert said[0] == said[1]


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return pretrained_folder(tmp_path_factory.mktemp("peft") / "base")


def saved_by_peft(base, folder, **settings):
    """Writes an adapter as PEFT does; gives the logits that it computes."""
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    network = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    config = LoraConfig(**{"r": 4, "lora_alpha": 8, "target_modules": "all-linear", **settings})
    made = get_peft_model(network, config).eval()
    generator = torch.Generator().manual_seed(0)
    for weight in made.parameters():
        if weight.requires_grad:
            weight.data += 0.05 * torch.randn(weight.shape, generator=generator)
    made.save_pretrained(folder)
    return made(torch.tensor([ROW])).logits[0]


ROW = [1, 5, 9, 20, 33, 7]


@for_each(
    "settings",
    [
        {},
        {"use_rslora": True},
        {"use_dora": True},
        {"target_modules": r".*\.(q_proj|v_proj)"},
        {"target_modules": ["model.layers.0.mlp.down_proj", "model.layers.1.mlp.down_proj"]},
        {"exclude_modules": ["q_proj"]},
        {"modules_to_save": ["embed_tokens"], "ensure_weight_tying": True},
    ],
)
def test_adapters_that_peft_writes_compute_here_what_they_do_there(settings, base, tmp_path_factory):
    folder = tmp_path_factory.mktemp("written")
    wanted = saved_by_peft(base, folder, **settings)
    model = load_pretrained(str(base), device="cpu").model
    put_adapter(model, folder, base="base")
    torch.testing.assert_close(row_logits(model.eval(), [ROW])[0], wanted, atol=2e-6, rtol=1e-4)


@for_each(
    ("settings", "said"),
    [
        ({"rank_pattern": {"q_proj": 2}}, "plain LoRA and DoRA alone"),
        ({"modules_to_save": ["norm"]}, "plain LoRA and DoRA alone"),
        ({"init_lora_weights": "pissa"}, "plain LoRA and DoRA alone"),
        ({"lora_bias": True}, "left over"),
        ({"target_modules": ["q_proj"], "layers_to_transform": [1]}, "plain LoRA and DoRA alone"),
        ({"target_modules": ["model.layers.0.self_attn.q_proj"]}, "missing"),
        ({"modules_to_save": ["embed_tokens"]}, "embed_tokens trained apart from lm_head"),
        ({"modules_to_save": ["embed_tokens", "lm_head"]}, "embed_tokens trained apart from lm_head"),
    ],
)
def test_adapters_that_compute_something_else_are_refused(settings, said, base, tmp_path_factory):
    folder = tmp_path_factory.mktemp("written")
    saved_by_peft(base, folder, **settings)
    with pytest.raises(InputError, match=said):
        put_adapter(load_pretrained(str(base), device="cpu").model, folder, base="base")
