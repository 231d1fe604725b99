import json

import pytest

from tests.checks.kinds.describing import document
from tests.for_each import for_each
from trimtab.checks.conversion.data_sets import training_sets, validation_sets
from trimtab.checks.conversion.draft import Draft
from trimtab.checks.kinds.axolotl import KIND as AXOLOTL
from trimtab.checks.kinds.kind import Surroundings
from trimtab.checks.kinds.llamafactory import KIND as FACTORY

OWN = "type: {field_instruction: question, field_output: answer, format: '{instruction}'}"


def draft_of(kind, text, path="f.yaml"):
    return Draft(kind.describe(document(str(path), text), Surroundings())[0], kind.title)


def axolotl(entry, more=""):
    return draft_of(
        AXOLOTL, f"base_model: b\nmicro_batch_size: 1\ndatasets: [{{path: a.jsonl, {entry}}}]\n{more}"
    )


def factory(tmp_path, info, names="mine", more=""):
    (tmp_path / "dataset_info.json").write_text(json.dumps(info))
    text = f"model_name_or_path: b\nstage: sft\ndo_train: true\ndataset: {names}\ndataset_dir: .\n{more}"
    return draft_of(FACTORY, text, tmp_path / "f.yaml")


@for_each(
    ("entry", "form", "as_it_is"),
    [
        ("type: chat_template", "chats", True),
        ("type: chat_template, field_messages: conversations, message_property_mappings: {role: from, content: value}",
         "chats", True),
        ("type: sharegpt", "chats", True),
        ("type: chat_template, roles: {assistant: [gpt, model]}", "chats", False),
        ("type: chat_template, field_messages: dialog", "chats", False),
        ("type: alpaca", "instructions", True),
        ("type: alpaca_chat.load_qa", "instructions", False),
        (OWN, "instructions", False),
        ("type: completion", "texts", True),
        ("type: completion, field: content", "texts", False),
        ("type: input_output", "unread", True),
        ("split: train", "unknown", True),
    ],
)  # fmt: skip
def test_a_type_of_axolotl_says_how_rows_are_read(entry, form, as_it_is):
    draft = axolotl(entry)
    (found,) = training_sets(draft)
    assert (found.form, found.reads_as_it_is, found.name) == (form, as_it_is, "a.jsonl")
    assert [each.key for each in draft.unmatched() if each.key.startswith("datasets")] == []


def test_several_files_configuration_split_and_shards_are_kept():
    found = training_sets(
        axolotl("data_files: [x.jsonl, y.jsonl], name: v2, split: 'train[:10%]', shards: 4")
    )
    assert [each.name for each in found] == ["x.jsonl", "y.jsonl"]
    assert (found[0].config, found[0].split, found[0].shards) == ("v2", "train[:10%]", 4)


def test_roles_that_are_not_learned_here_are_named():
    draft = axolotl("type: chat_template, roles_to_train: [user, assistant]")
    training_sets(draft)
    assert "roles_to_train is user, assistant" in draft.notes[0]


def test_validation_sets_of_both_tools_are_found(tmp_path):
    (held,) = validation_sets(
        axolotl("type: alpaca", "test_datasets: [{path: dev.jsonl, type: chat_template}]\n")
    )
    assert (held.name, held.form) == ("dev.jsonl", "chats")
    info = {"mine": {"file_name": "a.jsonl"}, "held": {"file_name": "h.jsonl", "formatting": "sharegpt"}}
    (held,) = validation_sets(factory(tmp_path, info, more="eval_dataset: held\n"))
    assert (held.name, held.form) == ("h.jsonl", "chats")
    assert validation_sets(axolotl("type: alpaca")) == []


@for_each(
    ("entry", "form", "as_it_is"),
    [
        ({}, "instructions", True),
        ({"columns": {"prompt": "q", "response": "a"}}, "instructions", False),
        ({"columns": {"history": "h"}}, "instructions", False),
        ({"formatting": "sharegpt"}, "chats", True),
        ({"formatting": "openai"}, "chats", True),
        ({"formatting": "sharegpt", "columns": {"messages": "m"}, "tags": {"role_tag": "r"}}, "chats", False),
        ({"formatting": "sharegpt", "columns": {"system": "s"}}, "chats", False),
        ({"ranking": True}, "unread", True),
    ],
)
def test_an_entry_of_dataset_info_says_how_rows_are_read(entry, form, as_it_is, tmp_path):
    (found,) = training_sets(factory(tmp_path, {"mine": {"file_name": "a.jsonl", **entry}}))
    assert (found.form, found.reads_as_it_is) == (form, as_it_is)


def test_a_name_that_nothing_explains_and_one_of_the_hub(tmp_path):
    missing, hub = training_sets(
        factory(tmp_path, {"hub": {"hf_hub_url": "a/b", "subset": "c"}}, "none, hub")
    )
    assert (missing.is_missing, missing.name) == (True, "none")
    assert (hub.is_missing, hub.is_file, hub.name, hub.config) == (False, False, "a/b", "c")


@for_each("name", ["a" * 5000, "a\0b", "", "..", "/", 3, None, [], {"a": 1}])
def test_no_name_is_too_strange(name, tmp_path):
    entry = f"type: {json.dumps(name)}, data_files: {json.dumps(name)}"
    found = training_sets(axolotl(entry))
    assert all(isinstance(each.is_file, bool) for each in found)
    info = {"mine": {"file_name": name, "columns": name, "tags": name, "formatting": name}}
    assert len(training_sets(factory(tmp_path, info))) == 1


@pytest.mark.parametrize("info", ["[1]", "{", "null", '{"mine": 3}'])
def test_a_broken_dataset_info_explains_nothing(info, tmp_path):
    draft = factory(tmp_path, {})
    (tmp_path / "dataset_info.json").write_text(info)
    assert [each.is_missing for each in training_sets(draft)] == [True]
