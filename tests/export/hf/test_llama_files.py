import json
import shutil

import pytest

from trimtab.config.load import load_recipe
from trimtab.errors import InputError
from trimtab.export.hf.llama_files import check_llama_files, check_llama_shapes
from trimtab.export.hf.llama_shape import tensor_shapes
from trimtab.export.manifest import RECIPE, read_manifest, read_tokenizers


@pytest.fixture
def copy(exported_text, tmp_path):
    return shutil.copytree(exported_text, tmp_path / "copy")


def check(folder) -> None:
    recipe = load_recipe(folder / RECIPE).recipe
    tokenizer = read_tokenizers(folder, read_manifest(folder)).target
    check_llama_files(folder, recipe.model, tokenizer, window=recipe.data.max_tokens)


def change(folder, name="config.json", **values) -> None:
    path = folder / name
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


@pytest.mark.slow
def test_what_an_export_writes_passes(exported_text):
    check(exported_text)


@pytest.mark.parametrize(
    "values",
    [
        {"auto_map": {"AutoConfig": "evil.C"}},
        {"attn_implementation": "kernels-community/flash-attn"},
        {"quantization_config": {"quant_method": "bitsandbytes"}},
        {"model_type": "qwen3"},
        {"architectures": ["GPT2LMHeadModel"]},
        {"num_hidden_layers": 10**6},
        {"tie_word_embeddings": 1},
        {"vocab_size": 10**9},
        {"rope_parameters": {"rope_type": "yarn", "rope_theta": 10000.0}},
        {"rope_scaling": {"type": "linear"}},
        {"hidden_act": "evil"},
        {"rms_norm_eps": 1e-5},
        {"dtype": "float16"},
        {"layer_types": ["sliding_attention"]},
    ],
    ids=str,
)
def test_a_setting_that_no_export_of_this_recipe_writes_is_refused_by_name(copy, values):
    change(copy, **values)
    with pytest.raises(InputError, match=f"{next(iter(values))} is not as an export writes it"):
        check(copy)


def test_so_is_one_of_the_search_and_one_that_is_missing(copy):
    change(copy, "generation_config.json", custom_generate="evil/repo")
    with pytest.raises(InputError, match="custom_generate is not"):
        check(copy)
    (copy / "generation_config.json").unlink()
    check(copy)
    (copy / "config.json").write_text("{}")
    with pytest.raises(InputError, match="no such key"):
        check(copy)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.safetensors.index.json", "adapter_config.json"])
def test_other_weights_in_the_folder_are_refused(copy, name):
    (copy / name).write_text("{}")
    with pytest.raises(InputError, match=name):
        check(copy)


def test_a_tensor_that_is_missing_left_over_or_of_another_shape_is_told(exported_text):
    config = load_recipe(exported_text / RECIPE).recipe.model
    right = tensor_shapes(config, num_ids=310)
    check_llama_shapes(exported_text, config, right, num_ids=310)
    for wrong in (
        {**right, "extra": [1]},
        {**right, "model.norm.weight": [33]},
        dict(list(right.items())[1:]),
    ):
        with pytest.raises(InputError, match="1 others"):
            check_llama_shapes(exported_text, config, wrong, num_ids=310)
