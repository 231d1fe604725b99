from dataclasses import replace

import pytest

from tests.checks.rules.exchange import swap
from tests.checks.rules.findings import findings as said
from tests.checks.rules.findings import runs_of
from tests.for_each import for_each
from trimtab.checks.rules import m114_token_id_outside_vocabulary as m114
from trimtab.checks.rules import m115_pad_is_eos as m115
from trimtab.checks.rules import m116_target_language_not_set as m116
from trimtab.checks.rules import m117_all_weights_start_uniform as m117

EOLE = (
    "src_vocab: v.src\ntgt_vocab: v.tgt\ndata:\n  corpus:\n    path_src: a.en\n    path_tgt: a.de\n"
    "training:\n  model_path: run\n  train_steps: 1000\n  batch_size: 64\n{more}model:\n  architecture: transformer\n"
    "  hidden_size: 512\n  layers: 6\n"
)


@for_each(
    ("more", "count"),
    [
        ('"pad_token_id": 31999', 0),
        ('"pad_token_id": -1', 0),
        ('"pad_token_id": null', 0),
        ('"pad_token_id": 32000', 1),
        ('"eos_token_id": [2, 32001]', 1),
        ('"bad_words_ids": [[32005]], "forced_bos_token_id": 40000', 2),
    ],
)
def test_ids_are_counted_from_zero(more, count):
    text = '{"model_type": "marian", "architectures": ["MarianMTModel"], "vocab_size": 32000, ' + more + "}"
    assert len(said(m114, "config.json", text)) == count


def test_models_with_other_tables_are_left_alone():
    text = '{"model_type": "musicgen_decoder", "hidden_size": 8, "vocab_size": 2048, "pad_token_id": 2048}'
    assert not said(m114, "config.json", text)


def test_a_generation_config_is_judged_by_the_model_beside():
    generation, model = (
        '{"num_beams": 4, "max_new_tokens": 200, "decoder_start_token_id": 512}',
        '{"model_type": "marian", "architectures": ["MarianMTModel"], "vocab_size": 512}',
    )
    (run,) = runs_of("generation_config.json", generation)
    assert not list(m114.check(run))
    joined = replace(run, nearby=tuple(runs_of("config.json", model)))
    assert [found.key for found in m114.check(joined)] == ["decoder_start_token_id"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("mlm=False", "mlm=True"),
        ("tokenizer.pad_token = tokenizer.eos_token", "tokenizer.pad_token = tokenizer.unk_token"),
        ("tokenizer.pad_token = tokenizer.eos_token", "# tokenizer.pad_token = tokenizer.eos_token"),
    ],
)
def test_padding_that_is_not_the_end_or_another_task_is_left_alone(old, new):
    assert not said(m115, *swap(m115.RULE.bad, (old, new)))


@pytest.mark.parametrize("indent", ["", "    ", "\t"])
def test_the_place_is_the_statement_that_makes_them_one(indent):
    statement = "tokenizer.pad_token = tokenizer.eos_token"
    block = f"if True:\n{indent}" if indent else ""
    file, text = swap(m115.RULE.bad, (statement, block + statement + "  # both"))
    (found,) = said(m115, file, text)
    place = found.place
    assert text.splitlines()[place.line - 1][place.column - 1 : place.end_column - 1] == statement


@pytest.mark.parametrize(
    "pairs",
    [
        [
            ("import Trainer, TrainingArguments", "import Trainer"),
            ("args = ", "args = {} #"),
            ("Trainer(", "print("),
        ],
        [("model = AutoModelForCausalLM.from_pretrained(", "model = mine(")],
        [
            ("AutoTokenizer, DataCollatorForLanguageModeling", "AutoTokenizer"),
            ("\n\ntokenizer", "\nfrom trl import DataCollatorForLanguageModeling\n\ntokenizer"),
        ],
    ],
    ids=["nothing trains", "no model", "TRL's collator"],
)
def test_padding_is_of_no_matter_where_the_file_trains_no_model_with_that_collator(pairs):
    assert not said(m115, *swap(m115.RULE.bad, *pairs))


def test_where_nothing_appends_the_end_there_is_none_to_lose():
    (found,) = said(m115, m115.RULE.bad.file, m115.RULE.bad.text)
    assert found.finding.severity == "note"
    appended = m115.RULE.bad.text + "texts = [text + tokenizer.eos_token for text in texts]\n"
    (found,) = said(m115, m115.RULE.bad.file, appended)
    assert found.finding.severity == "warning"


def test_a_tokenizer_with_a_target_language_is_left_alone():
    text = m116.RULE.bad.text + 'tokenizer.tgt_lang = "deu_Latn"\n'
    assert said(m116, "train.py", m116.RULE.bad.text)
    assert not said(m116, "train.py", text)


def test_the_language_that_the_targets_get_is_told():
    text = m116.RULE.bad.text.replace(
        'distilled-600M")\nmodel', 'distilled-600M", src_lang="fra_Latn")\nmodel'
    )
    (found,) = said(m116, "train.py", text)
    assert found.finding.message.endswith("fra_Latn")


def test_glorot_is_not_read_while_the_uniform_start_is_on():
    (found,) = said(m117, m117.RULE.bad.file, m117.RULE.bad.text)
    assert "`param_init_glorot` is not read" in found.finding.message


@pytest.mark.parametrize("more", ["train_from: model.pt\n", "param_init: 0.0\n"])
def test_a_loaded_model_or_no_uniform_start_is_left_alone(more):
    assert not said(m117, m117.RULE.bad.file, m117.RULE.bad.text + more)


@for_each(
    ("more", "count"),
    [
        ("", 1),
        ("  param_init_method: uniform\n", 1),
        ("  param_init_method: xavier_uniform\n", 0),
        ("  param_init_method: normal\n  param_init: 0.02\n", 0),
        ("  train_from: run/step_100\n", 0),
    ],
)
def test_eole_starts_uniformly_unless_told_otherwise(more, count):
    assert len(said(m117, "eole.yaml", EOLE.format(more=more))) == count
