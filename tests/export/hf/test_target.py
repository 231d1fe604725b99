"""What whoever has transformers and nothing else gets from the folder."""

import json
import shutil
import subprocess
import sys

import pytest
import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from tests.export.runs import of_model, trained
from tests.small_run import small_pairs
from trimtab.decode.limits import target_limit
from trimtab.export.hf.target import HuggingFace
from trimtab.export.target import Target, TranslatesLines
from trimtab.export.targets import build_target
from trimtab.exporting import export_model
from trimtab.inference import load_model, load_translator

LINES = [source for source, _ in small_pairs(40, seed=12)]


def generated(folder, lines, **options):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSeq2SeqLM.from_pretrained(folder)
    batch = tokenizer(lines, return_tensors="pt", padding=True, truncation=True)
    return tokenizer.batch_decode(model.generate(**batch, **options), skip_special_tokens=True)


def beyond_the_limit(folder, lines, *, longest):
    """For each line whether what `generate` gives is longer than the trainer's search lets it become, or cut off."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSeq2SeqLM.from_pretrained(folder)
    batch = tokenizer(lines, return_tensors="pt", padding=True)
    limits = [target_limit(size, max_tokens=longest) for size in batch["attention_mask"].sum(1).tolist()]
    end = tokenizer.eos_token_id
    written = [row[1:] for row in model.generate(**batch).tolist()]
    return [end not in row or row.index(end) + 1 > limit for row, limit in zip(written, limits, strict=True)]


def test_it_is_a_target_and_gives_what_can_be_compared(exported_run):
    assert isinstance(build_target("hf"), Target)
    assert isinstance(HuggingFace().as_users_open_it(exported_run), TranslatesLines)


@pytest.mark.slow
def test_from_pretrained_and_generate_give_the_trainers_text(tmp_path):
    """But for lines where it finds something longer than the trainer lets translations become; see `limits`."""
    length = {"length": "400 steps", "evaluate.every": "400 steps", "checkpoint.every": "400 steps"}
    run = trained(tmp_path, **length, **of_model(dropout=0.0))
    export_model(str(run), out=tmp_path / "hf")
    ours = load_translator(str(run), device="cpu").translate(LINES)
    longer = beyond_the_limit(tmp_path / "hf", LINES, longest=20)
    assert sum(longer) <= 5
    for one, other, is_longer in zip(ours, generated(tmp_path / "hf", LINES), longer, strict=True):
        assert is_longer or one.strip() == other
    assert len(set(ours)) > 20


@pytest.mark.slow
def test_the_code_of_the_model_card_runs_and_prints_a_translation(trained_run, exported_run):
    card = HuggingFace().card(load_model(f"{trained_run}@last", device="cpu"), name=exported_run.name)
    code = card.usage.replace("A line.", "the small ship turns")
    shown = subprocess.run(
        [sys.executable, "-c", code], cwd=exported_run.parent, capture_output=True, text=True, check=True
    ).stdout
    assert shown.strip() == str(generated(exported_run, ["the small ship turns"]))


def test_what_is_saved_once_more_is_the_same_model(exported_run, tmp_path):
    AutoModelForSeq2SeqLM.from_pretrained(exported_run).save_pretrained(tmp_path / "again")
    AutoTokenizer.from_pretrained(exported_run).save_pretrained(tmp_path / "again")
    assert generated(tmp_path / "again", LINES) == generated(exported_run, LINES)


@pytest.mark.quick("changes1")
@pytest.mark.parametrize("changes", [{"decoder_positions": "none"}, {"positions": "learned"}])
def test_tables_of_positions_outlive_being_saved_once_more(tmp_path, changes):
    """MarianMT leaves its table out of what it saves and would make sines of it again; Pegasus must not."""
    export_model(str(trained(tmp_path, **of_model(**changes))), out=tmp_path / "hf")
    model = AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "hf")
    model.save_pretrained(tmp_path / "again")
    again = AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "again")
    for side in ("encoder", "decoder"):
        tables = [getattr(each.model, side).embed_positions.weight for each in (model, again)]
        assert torch.equal(*tables)


def test_padding_changes_no_score(trained_run, exported_run):
    """Pad is id 0 here, neither last nor 1, and its vector is not zero: it must not matter."""
    model = AutoModelForSeq2SeqLM.from_pretrained(exported_run)
    pad = load_model(str(trained_run), device="cpu").tokenizer.pad
    assert model.model.shared.weight[pad].abs().max() > 0
    tokenizer = AutoTokenizer.from_pretrained(exported_run)
    short, long = "old boat", " ".join(["the red sail pulls"] * 3)
    alone = tokenizer([short], return_tensors="pt")
    padded = tokenizer([short, long], return_tensors="pt", padding=True)
    assert padded["input_ids"].shape[1] > alone["input_ids"].shape[1]
    fed = torch.tensor([[model.config.decoder_start_token_id, 7, 9]])
    with torch.inference_mode():
        first = model(**alone, decoder_input_ids=fed).logits
        second = model(**padded, decoder_input_ids=fed.expand(2, -1)).logits[:1]
    torch.testing.assert_close(first, second, rtol=0, atol=1e-5)


def test_a_folder_needs_nothing_of_trimtab(exported_run, tmp_path):
    bare = shutil.copytree(
        exported_run, tmp_path / "bare", ignore=shutil.ignore_patterns("trimtab", "README.md")
    )
    assert generated(bare, LINES[:5]) == generated(exported_run, LINES[:5])
    assert "auto_map" not in json.loads((bare / "config.json").read_text()), "no code of its own"


def test_limits_speak_of_tags_and_of_what_other_converters_assume_only_where_it_applies(trained_run):
    model = load_model(str(trained_run), device="cpu")
    said = " ".join(HuggingFace().card(model, name="mine").limits)
    assert "32 tokens" in said
    assert "Tags" not in said
    assert "CTranslate2" not in said
