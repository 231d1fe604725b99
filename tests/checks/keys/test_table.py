import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.checks.description import Version
from trimtab.checks.keys import table as module
from trimtab.checks.keys.table import join_tables, load_table, read_version

KEYS = Path(module.__file__).parent
NAMES = sorted(path.stem for path in KEYS.glob("*.json"))
# What `dataclasses.fields` says in the installed library, recorded from transformers 5.24.0.
RECORDED = json.loads(Path(__file__).with_name("transformers_5_24_0.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("name", "of_class"),
    [("transformers", "TrainingArguments"), ("transformers_seq2seq", "Seq2SeqTrainingArguments")],
)
def test_a_table_has_the_fields_and_defaults_of_the_real_class(name, of_class):
    assert RECORDED["version"] == "5.24.0"
    table = load_table(name, {"transformers": (5, 24, 0)})
    living = {key.name: key for key in table.keys.values() if not is_gone(key, (5, 24, 0))}
    assert set(living) == set(RECORDED["classes"][of_class])
    for field, default in RECORDED["classes"][of_class].items():
        assert living[field].has_default, field
        assert living[field].default == default, field


def is_gone(key, version):
    return bool(key.removed_in) and version >= read_version(key.removed_in)


@for_each("name", NAMES)
def test_every_table_loads_for_no_version_and_for_any(name):
    for versions in ({}, {"transformers": (4, 40), "trl": (0, 9), "peft": (0, 10)}, {"transformers": (9,)}):
        table = load_table(name, versions)
        assert table.keys
        assert all(name == key.name for name, key in table.keys.items())
        assert all(key.library for key in table.keys.values())


@for_each("name", NAMES)
def test_defaults_are_within_their_own_bounds_and_choices(name):
    for key in load_table(name).keys.values():
        number = isinstance(key.default, int | float) and not isinstance(key.default, bool)
        if key.has_default and number:
            assert key.minimum is None or key.default >= key.minimum, key
            assert key.maximum is None or key.default <= key.maximum, key
            assert key.below is None or key.default < key.below, key
        if key.has_default and isinstance(key.default, str) and key.choices:
            assert key.default in key.choices, key


@pytest.mark.parametrize(
    ("version", "optim"), [((4, 46, 3), "adamw_torch"), ((5, 24, 0), "adamw_torch_fused")]
)
def test_a_default_follows_the_version(version, optim):
    assert load_table("transformers", {"transformers": version}).keys["optim"].default == optim


def test_a_default_that_depends_on_an_unknown_version_is_not_told():
    assert not load_table("transformers").keys["optim"].has_default
    assert load_table("transformers").keys["learning_rate"].default == 5e-5


def test_choices_of_an_unknown_version_are_all_that_ever_were():
    choices = load_table("transformers").keys["ddp_backend"].choices
    assert "ccl" in choices
    assert "xccl" in choices
    assert "ccl" not in load_table("transformers", {"transformers": (5, 24, 0)}).keys["ddp_backend"].choices


def test_a_tool_says_otherwise_than_the_library_only_from_a_version_on():
    old = load_table("trl_sft", {"trl": (0, 15), "transformers": (4, 46)}).keys
    new = load_table("trl_sft", {"trl": (1, 9), "transformers": (4, 46)}).keys
    assert (old["logging_steps"].default, new["logging_steps"].default) == (500, 10)
    assert (old["gradient_checkpointing"].default, new["gradient_checkpointing"].default) == (False, True)
    assert not load_table("trl_sft").keys["logging_steps"].has_default
    assert new["logging_steps"].since == ""
    assert (new["learning_rate"].library, new["max_length"].library) == ("transformers", "trl")


def test_renamed_keys_name_their_heir():
    keys = load_table("transformers", {"transformers": (5, 24, 0)}).keys
    for name, heir in {
        "evaluation_strategy": "eval_strategy",
        "gradient_checkpointing": "activation_checkpointing",
        "warmup_ratio": "warmup_steps",
        "no_cuda": "use_cpu",
    }.items():
        assert keys[name].renamed_to == heir
        assert heir in keys


@for_each("name", NAMES)
def test_every_heir_is_known(name):
    keys = load_table(name).keys
    assert {key.renamed_to for key in keys.values() if key.renamed_to} <= keys.keys()


def test_joined_tables_keep_what_they_agree_on():
    sft, dpo = load_table("trl_sft"), load_table("trl_dpo")
    both = join_tables(sft, dpo)
    assert both.keys["learning_rate"].has_default is False
    assert both.keys["seed"].default == 42
    assert {"packing", "beta"} <= both.keys.keys()


@for_each(
    ("text", "version"),
    [("5.24.0", (5, 24, 0)), ("0.20.1.dev0", (0, 20, 1)), ("1.0rc1", (1, 0)), ("v4.46", (4, 46)), ("", ())],
)
def test_a_version_is_its_numbers(text, version):
    assert read_version(text) == version


@given(st.lists(st.integers(0, 999), min_size=1, max_size=4))
def test_versions_read_what_they_are_written_as(numbers):
    assert read_version(".".join(map(str, numbers))) == tuple(numbers)


def test_what_a_tool_defines_itself_it_takes_whatever_became_of_it_in_the_library():
    versions = {"transformers": (5, 24, 0)}
    assert load_table("transformers", versions).key("overwrite_output_dir").removed_in
    assert load_table("llamafactory", versions).key("overwrite_output_dir").removed_in == ""
    assert load_table("llamafactory", versions).key("warmup_ratio").removed_in


def rows_that_ended():
    """Rows of a tool over a key of a library, which it gave up later: from then on the library's word counts."""
    for name in NAMES:
        content = json.loads((KEYS / f"{name}.json").read_text(encoding="utf-8"))
        for other in content.get("includes", ()):
            included = json.loads((KEYS / f"{other}.json").read_text(encoding="utf-8"))["keys"]
            for key, row in content["keys"].items():
                if key in included and "removed_in" in row and included[key].get("removed_in") is None:
                    yield name, key


@for_each(("name", "key"), list(rows_that_ended()))
def test_a_row_that_a_tool_gave_up_is_not_gone_from_the_library(name, key):
    for versions in ({}, {"transformers": (5, 24)}, {"transformers": (5, 24), "trl": (1, 7)}):
        assert load_table(name, versions).key(key).removed_in == ""


@for_each(
    ("version", "known"),
    [
        ((4, 46, 0), ("adamw_hf", "adamw_apex_fused")),
        ((4, 50, 0), ("adamw_apex_fused",)),
        ((5, 8, 0), ()),
        (None, ("adamw_hf", "adamw_apex_fused")),
    ],
)
def test_optimizers_that_went_are_known_to_the_versions_that_had_them(
    version: Version | None, known: tuple[str, ...]
):
    table = load_table("transformers", {"transformers": version} if version else {})
    key = table.key("optim")
    assert key is not None
    assert {"adamw_hf", "adamw_apex_fused"} & set(key.choices) == set(known)
