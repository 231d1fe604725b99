import pytest

from tests.for_each import for_each
from trimtab.config import problems as complain
from trimtab.config.describe import join_words
from trimtab.config.problems import complaints_about
from trimtab.metrics.catalogue import METRICS

METRIC_NAMES = join_words([metric.name for metric in METRICS], "or")
MODEL = {"preset": "tiny"}
DATA = {"train": [{"source": "a", "target": "b"}]}


def tree(**changes):
    return {"data": DATA, "model": MODEL, "length": "10 steps", **changes}


def only(**changes):
    (complaint,) = complaints_about(tree(**changes))
    return complaint


@pytest.mark.parametrize(
    ("written", "what", "got"),
    [(0, "out of range", "0"), (-1, "out of range", "-1"), (100000, "out of range", "100000"),
     ("x", "wrong type", "'x'"), (None, "wrong type", "nothing (null)"), (True, "wrong type", "true")],
)  # fmt: skip
@pytest.mark.parametrize("kind", [{}, {"kind": "encoder_decoder"}])
def test_a_shorthand_is_told_by_its_own_name_once_and_with_its_bounds(kind, written, what, got):
    found = only(model={**MODEL, **kind, "layers": written})
    assert (found.path, found.what, found.got) == ("model.layers", what, got)
    assert found.allowed == "a whole number, at least 1 and at most 1000"


def test_a_field_beside_its_shorthand_is_told_by_its_own_name():
    assert only(model={**MODEL, "layers": 2, "encoder_layers": 0}).path == "model.encoder_layers"


def test_a_length_in_another_unit_of_time_is_right():
    assert complaints_about(tree(length="2 hours")) == []


def test_a_right_recipe_has_no_complaints():
    assert complaints_about(tree()) == []


@for_each(
    ("changes", "path", "what", "got", "allowed"),
    [
        ({"seed": "x"}, "seed", "wrong type", "'x'", "a whole number, at least 0 and less than 9223372036854775808"),
        ({"seed": 1.5}, "seed", "wrong type", "1.5", "a whole number, at least 0 and less than 9223372036854775808"),
        ({"seed": True}, "seed", "wrong type", "true",
         "a whole number, at least 0 and less than 9223372036854775808"),
        ({"seed": 10**30}, "seed", "out of range", str(10**30),
         "a whole number, at least 0 and less than 9223372036854775808"),
        ({"loss": {"label_smoothing": 1}}, "loss.label_smoothing", "out of range", "1",
         "a number, at least 0 and less than 1"),
        ({"loss": {"z_loss": float("nan")}}, "loss.z_loss", "out of range", "nan",
         "a number, at least 0 and at most 1"),
        ({"loss": {"label_smoothing": "much"}}, "loss.label_smoothing", "wrong type", "'much'",
         "a number, at least 0 and less than 1"),
        ({"loss": 3}, "loss", "wrong type", "3",
         "a group of keys: kind, label_smoothing, z_loss, truncate, guided_alignment, feature_matching and boxes"),
        ({"step": {"precision": "fp8"}}, "step.precision", "unknown value", "'fp8'",
         "auto, fp32, tf32, bf16_mixed, fp16_mixed or bf16"),
        ({"step": {"deterministic": "perhaps"}}, "step.deterministic", "wrong type", "'perhaps'", "true or false"),
        ({"step": {"optimizer": {"betas": [0.9]}}}, "step.optimizer.betas.1", "missing", "nothing", "a number"),
        ({"step": {"optimizer": {"betas": 0.9}}}, "step.optimizer.betas", "wrong type", "0.9",
         "a list of 2, each item a number"),
        ({"step": {"optimizer": {"betas": [0.9, 1]}}}, "step.optimizer.betas", "wrong value", "[0.9, 1.0]",
         "each is at least 0 and below 1"),
        (
            {"step": {"clip": {"kind": "global"}}},
            "step.clip.kind",
            "unknown kind",
            "'global'",
            "global_norm, adaptive, component or off",
        ),
        ({"length": "10"}, "length", "wrong value", "'10'",
         "a number and its unit, such as '500 steps', '3 epochs', '2M tokens' or '30 minutes'"),
        ({"length": "10 parsecs"}, "length", "wrong value", "the unit 'parsecs'", "steps, epochs, tokens and minutes"),
        ({"evaluate": {"every": None}}, "evaluate.every", "wrong value", "None",
         "a number and its unit, such as '500 steps'"),
        ({"evaluate": {"metrics": ["blue"]}}, "evaluate.metrics.0", "unknown value", "'blue'", METRIC_NAMES),
        ({"evaluate": {"metrics": "bleu"}}, "evaluate.metrics", "wrong type", "'bleu'",
         f"a list, each item {METRIC_NAMES}"),
        ({"evaluate": {"lines": 0}}, "evaluate.lines", "out of range", "0", "a whole number, at least 1, or null"),
        ({"data": {**DATA, "workers": "two"}}, "data.workers", "wrong type", "'two'", "a whole number or auto"),
        ({"data": {**DATA, "workers": 999}}, "data.workers", "wrong value", "999", "0 to 256, or auto"),
        ({"data": {"train": []}}, "data.train", "empty", "no item", "at least one"),
        ({"data": {**DATA, "valid": {"dev": 3}}}, "data.valid.dev", "wrong type", "3",
         "a group of keys: source, target, pairs, states, documents, dataset, split, name, factors, "
         "factor_separator, tags, direction, text, learn, images, render, boxes, image_folder and bleu_tokenizer"),
        ({"data": {**DATA, "transforms": [{"form": "nfc"}]}}, "data.transforms.0.kind", "missing", "nothing",
         "normalize, length, ratio, character_run, duplicate, copy, language, letters, word_length, "
         "denoise, protect or context"),
        ({"task": "parsing"}, "task", "unknown value", "'parsing'",
         "translation, language_model, classification, image_classification, recognition, detection or diffusion"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_said_in_our_words(changes, path, what, got, allowed):
    complaint = only(**changes)
    assert (complaint.path, complaint.what, complaint.got, complaint.allowed) == (path, what, got, allowed)
    assert complaint.fix


def test_a_missing_key_says_what_it_is_for():
    complaints = complaints_about({"model": MODEL, "length": "1 steps"})
    assert [(found.path, found.what) for found in complaints] == [("data", "missing")]
    (length,) = complaints_about({"model": MODEL, "data": DATA})
    assert length.fix == "add `length`: How long to train."


def test_a_suggested_value_has_no_comma_of_the_list_that_it_stands_in():
    found = complaints_about({"model": MODEL, "data": DATA, "adapter": {"kind": "lora", "targets": "all"}})
    assert [each.fix for each in found if each.path == "adapter.targets"] == ["did you mean `all_linear`?"]


@for_each(
    ("changes", "path", "suggested"),
    [
        ({"learning_rate": 1}, "learning_rate", "step.optimizer.learning_rate"),
        ({"step": {"optimiser": {}}}, "step.optimiser", "step.optimizer"),
        ({"model": {**MODEL, "layer": 3}}, "model.layer", "model.layers"),
        ({"data": {**DATA, "vocab_size": 3}}, "data.vocab_size", "data.tokenizer.vocabulary_size"),
        ({"data": {"train": [{"source": "a", "target": "b", "wieght": 2}]}}, "data.train.0.wieght",
         "data.train.0.weight"),
        ({"data": {**DATA, "valid": {"source": "a", "target": "b", "nam": "c"}}}, "data.valid.nam", "data.valid.name"),
        ({"data": {**DATA, "valid": {"dev": {"source": "a", "target": "b", "nam": "c"}}}}, "data.valid.dev.nam",
         "data.valid.dev.name"),
    ],
)  # fmt: skip
def test_an_unknown_key_names_the_nearest_known_one(changes, path, suggested):
    complaint = only(**changes)
    assert (complaint.path, complaint.what) == (path, "unknown key")
    assert complaint.fix == f"did you mean `{suggested}`?"


def test_an_unknown_key_is_repeated_with_what_is_allowed_there():
    complaint = only(loss={"smoothness": 3})
    assert complaint.got == "smoothness: 3"
    assert (
        complaint.allowed
        == "the keys kind, label_smoothing, z_loss, truncate, guided_alignment, feature_matching and boxes"
    )
    assert only(zzz={}).fix.startswith("remove it")


def test_the_way_out_of_a_wrong_value_names_the_default_where_there_is_one():
    assert only(step={"optimizer": {"learning_rate": -1}}).fix.endswith("for the default, 0.0005")
    assert only(step={"compile": 3}).fix.endswith("for the default, auto")
    assert only(data={**DATA, "tokenizer": {"byte_fallback": 3}}).fix.endswith("for the default, true")
    assert only(model={"preset": "tiny", "dim": 3}).fix == "use one of the allowed values"


def test_a_key_of_another_kind_says_whose_it_is():
    complaint = only(step={"optimizer": {"kind": "adamw", "clip_update": 1.0}})
    assert complaint.what == "unknown key for the kind adamw"
    assert complaint.fix == "remove it; it belongs to the kind adafactor"


def test_unknown_keys_are_found_below_other_errors_too():
    found = complaints_about(tree(model={"preset": "tinny", "dropuot": 0.1, "heads": 0}))
    assert {complaint.path for complaint in found} == {"model.preset", "model.dropuot", "model.heads"}


def test_a_message_of_a_whole_group_is_put_to_the_key_it_names():
    assert only(model={"preset": "base", "heads": 7}).path == "model.heads"
    missing = only(model={"dim": 64})
    assert missing.path == "model"
    assert "heads, encoder_layers, decoder_layers, feed_forward: not given" in missing.what


def test_the_wrong_form_of_a_group_says_how_to_write_it():
    assert only(step={"schedule": "cosine"}).fix == "write it as a group: `{kind: cosine}`"
    assert only(data={"train": {"source": "a", "target": "b"}}).fix == "begin each item with `- `"


def test_a_wrong_item_of_a_list_is_not_also_a_list_that_is_too_short():
    complaint = only(data={"train": [{"source": "a", "target": "b", "weight": -1}]})
    assert complaint.path == "data.train.0.weight"


@pytest.mark.parametrize("value", [[None], ["a", {"b": 2}], {"a": 1}])
def test_a_group_or_a_list_in_place_of_plain_values_is_one_complaint(value):
    found = only(data={"train": [{"source": value, "target": "b"}]})
    assert (found.path, found.what, found.allowed) == (
        "data.train.0.source",
        "wrong type",
        "text or a whole number",
    )


def test_a_union_of_plain_values_is_one_complaint():
    complaint = only(data={"train": [{"source": 1.5, "target": "b"}]})
    assert (complaint.path, complaint.allowed) == ("data.train.0.source", "text or a whole number")


def test_a_merge_key_is_told_as_one_and_how_a_group_is_named_twice():
    complaint = only(checkpoint={"<<": {"keep": 2}})
    assert (complaint.path, complaint.what) == ("checkpoint.<<", "a merge key, which recipes do not support")
    assert "&name" in complaint.fix


def test_of_thousands_of_unknown_keys_the_first_alone_are_guessed_at(monkeypatch):
    asked = []
    monkeypatch.setattr(complain, "nearest_keys", lambda path, siblings: asked.append(path) or [])
    corpora = [
        {"source": "a", "target": "b", f"one_{number}": 1, f"two_{number}": 1} for number in range(300)
    ]
    found = complaints_about(tree(lenght=1, data={"train": corpora}))
    assert len(found) == 601
    assert len(asked) == complain.MOST_GUESSES
    assert asked[0] == found[0].path
