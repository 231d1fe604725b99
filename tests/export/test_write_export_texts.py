"""From a run to a folder that transformers loads by itself; or no folder at all."""

import json
import subprocess
import sys

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from tests.text_run import STEPS, documents, trained_text_run
from trimtab.errors import InputError, RunFailed
from trimtab.export.hf import llama
from trimtab.export.write_export import ExportReport
from trimtab.exporting import export_model


def test_the_folder_is_a_model_of_the_library_and_says_how_it_was_proven(text_run, exported_text):
    model = AutoModelForCausalLM.from_pretrained(exported_text)
    tokenizer = AutoTokenizer.from_pretrained(exported_text)
    batch = tokenizer(["the small", "the old boat turns"], return_tensors="pt", padding=True)
    written = model.generate(**batch, max_new_tokens=12)
    texts = tokenizer.batch_decode(written, skip_special_tokens=True)
    assert [
        text.startswith(begin) for text, begin in zip(texts, ("the small", "the old boat turns"), strict=True)
    ]
    proof = json.loads((exported_text / "trimtab" / "gate.json").read_text())
    assert proof["passed"]
    assert proof["worst_logit"] < 1e-4
    assert proof["texts"] == 40
    card = (exported_text / "README.md").read_text()
    assert "of validation set" in card
    assert "LlamaForCausalLM" in card
    assert str(text_run.parent) not in card + (exported_text / "trimtab" / "trained.yaml").read_text()


LENGTHS = """
import warnings
import sys
warnings.simplefilter("error")
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig, pipeline
tokenizer, model = (each.from_pretrained(sys.argv[1]) for each in (AutoTokenizer, AutoModelForCausalLM))
batch = tokenizer(["the small"], return_tensors="pt")
begun = batch["input_ids"].shape[1]
drawn = {"do_sample": True, "temperature": 0.8, "top_p": 0.95}
for said in ({"max_new_tokens": 5}, {"max_new_tokens": 5, **drawn}, {"max_new_tokens": 5, "num_beams": 2}):
    assert model.generate(**batch, **said).shape[1] <= begun + 5
for said in ({"max_length": begun + 2}, {"max_length": begun + 2, **drawn},
             {"generation_config": GenerationConfig(max_length=begun + 2, pad_token_id=tokenizer.pad_token_id)}):
    assert model.generate(**batch, **said).shape[1] <= begun + 2
for said in ({"max_new_tokens": 5}, {"max_new_tokens": 5, **drawn}):
    (found,) = pipeline("text-generation", model=sys.argv[1])("the small", **said)
    print(found["generated_text"])
warnings.resetwarnings()
with warnings.catch_warnings(record=True) as told:
    assert model.generate(**batch).shape[1] <= begun + 20
    (only,) = [each.message for each in told if issubclass(each.category, UserWarning)]
    assert "We recommend setting `max_new_tokens`" in str(only)
"""


@pytest.mark.slow
def test_whatever_length_a_caller_says_is_the_length_and_the_library_has_nothing_to_warn_of(exported_text):
    done = subprocess.run(
        [sys.executable, "-c", LENGTHS, exported_text], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("the small")
    told = [line for line in done.stderr.splitlines() if line.strip() and "Loading weights" not in line]
    assert told == []


@pytest.mark.slow
def test_the_code_of_the_card_runs(exported_text):
    card = (exported_text / "README.md").read_text()
    code = card.split("```python\n")[1].split("```")[0]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=exported_text.parent, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("Once")


OTHER = {
    "bytes and normed queries": {"data.tokenizer": {"kind": "bytes"}, "model.qk_norm": True},
    "merges and two matrices": {
        "data.tokenizer.model": "bpe",
        "data.tokenizer.vocabulary_size": 300,
        "model.tie_embeddings": False,
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("changes", OTHER.values(), ids=OTHER)
def test_other_kinds_pass_too_and_their_texts_may_be_given(changes, tmp_path):
    run = trained_text_run(tmp_path, **changes)
    (tmp_path / "other.txt").write_text(
        "ein  Text\nmit ✓ und 日本\n\n" + documents(30, seed=9), encoding="utf-8"
    )
    report = export_model(str(run), out=tmp_path / "out", source=tmp_path / "other.txt")
    assert isinstance(report, ExportReport)
    assert report.gate.passed
    assert report.gate.texts == 31
    assert "given text" in (report.folder / "README.md").read_text()
    assert json.loads(json.dumps(report.to_dict()))["gate"]["passed"]
    assert "as exact as the trainer" in report.render()


@pytest.mark.slow
def test_an_export_that_differs_leaves_no_folder(text_run, tmp_path, monkeypatch):
    write = llama.write

    def spoilt(model, tokenizer, folder, *, window):
        write(model, tokenizer, folder, window=window)
        weights = load_file(folder / "model.safetensors")
        weights["model.norm.weight"][0] += 0.01
        from safetensors.torch import save_file

        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})

    monkeypatch.setattr(llama, "write", spoilt)
    with pytest.raises(
        RunFailed, match=r"differs from the trainer; nothing was written\n(.*\n)*  got     logits differ"
    ):
        export_model(str(text_run), out=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_recipes_that_the_library_cannot_compute_are_refused_by_name(tmp_path):
    run = trained_text_run(
        tmp_path,
        **{
            "model.positions": "learned",
            "model.norm": "layer",
            "model.activation": "gelu",
            "length": "6 steps",
        },
    )
    with pytest.raises(InputError) as caught:
        export_model(str(run), out=tmp_path / "out")
    assert [problem.what.split(":")[0] for problem in caught.value.problems] == [
        "model.positions",
        "model.norm",
        "model.activation",
    ]
    assert not (tmp_path / "out").exists()


def test_a_reference_a_taken_place_and_another_library_are_refused(text_run, tmp_path):
    (tmp_path / "a.txt").write_text("a\n")
    with pytest.raises(InputError, match="compared on text only"):
        export_model(
            str(text_run), out=tmp_path / "out", source=tmp_path / "a.txt", reference=tmp_path / "a.txt"
        )
    with pytest.raises(InputError, match="already exists"):
        export_model(str(text_run), out=tmp_path)
    (tmp_path / "none.txt").write_text("▁\n")
    with pytest.raises(InputError, match="no text to compare the export on"):
        export_model(str(text_run), out=tmp_path / "out", source=tmp_path / "none.txt")
    with pytest.raises(InputError, match=r"model\.kind"):
        export_model(str(text_run), to="ctranslate2", out=tmp_path / "out")


def test_the_weights_are_float32_and_those_of_the_checkpoint(text_run, exported_text):
    (step,) = (text_run / "checkpoints").glob("step-*")
    own, theirs = load_file(step / "model.safetensors"), load_file(exported_text / "model.safetensors")
    assert STEPS.split()[0] in step.name
    assert torch.equal(
        own["decoder.blocks.1.attention.out.weight"], theirs["model.layers.1.self_attn.o_proj.weight"]
    )
    assert {each.dtype for each in theirs.values()} == {torch.float32}
