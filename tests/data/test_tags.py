import pytest

from tests.data.small_text import small_tokenizer
from trimtab.config.data import DataConfig
from trimtab.data.tags import always_tagged, check_tags, trained_tags, unlike_training, untagged_sets
from trimtab.errors import InputError


def config(*corpora, valid=None):
    train = [
        {"source": f"{number}.en", "target": f"{number}.de", **each} for number, each in enumerate(corpora)
    ]
    return DataConfig.model_validate({"train": train, "valid": valid or {}})


UI, HELP, BARE = {"tags": ["<ui>"]}, {"tags": ["<help>", "<new>"]}, {}
BOTH = {"tags": ["<2de>"], "both_directions": True, "reverse_tags": ["<2en>"]}
HALF = {"tags": ["<2de>"], "both_directions": True}


def test_tags_of_both_directions_are_trained_with():
    assert trained_tags(config(UI, BOTH, UI)) == ("<ui>", "<2de>", "<2en>")
    assert trained_tags(config(BARE)) == ()


@pytest.mark.parametrize(
    ("corpora", "always"),
    [
        ((UI,), True),
        ((UI, HELP), True),
        ((UI, BARE), False),
        ((BARE,), False),
        ((BOTH,), True),
        ((HALF,), False),
    ],
)
def test_a_run_is_always_tagged_when_no_line_comes_without(corpora, always):
    assert always_tagged(config(*corpora)) == always


def messages(tags, *corpora):
    return [each.message for each in unlike_training(tags, config(*corpora))]


def test_a_forgotten_tag_is_told_with_those_that_are_known():
    (finding,) = unlike_training((), config(UI, HELP))
    assert (finding.code, finding.severity) == ("E902", "warning")
    assert finding.message.endswith("every line of the training had one of <ui>, <help>, <new>")
    assert finding.fix == "say one by --tag, or `tags` in Python: <ui> or <help> or <new>"
    assert messages(("<ui>",), UI, HELP) == []
    assert messages((), UI, BARE) == messages((), BARE) == []


def test_a_tag_that_no_line_had_is_told_also_where_the_vocabulary_has_it():
    assert messages(("<ui>", "<old>"), UI) == ["no line of the training had <old>; its tags are <ui>"]
    assert messages(("<old>",), BARE) == ["no line of the training had <old>; its tags are none"]


def test_an_untagged_validation_set_is_told():
    files = {"source": "dev.en", "target": "dev.de"}
    sets = {"one": {**files, "tags": ["<ui>"]}, "two": files}
    (finding,) = untagged_sets(config(UI, HELP, valid=sets))
    assert (finding.code, finding.severity) == ("D204", "warning")
    assert finding.message.startswith("the validation set two has no tags")
    assert "<ui>, <help>, <new>" in finding.message
    assert list(untagged_sets(config(UI, BARE, valid=sets))) == []
    assert list(untagged_sets(config(UI))) == []


def test_a_piece_of_text_is_no_tag():
    tokenizer = small_tokenizer()
    check_tags(["<ui>"], tokenizer)
    with pytest.raises(InputError, match="is a piece of ordinary text") as caught:
        check_tags(["▁the"], tokenizer)
    assert caught.value.problems[0].allowed == "<ui>"
    with pytest.raises(InputError, match="the vocabulary has no piece '<gui>'") as caught:
        check_tags(["<gui>"], tokenizer)
    assert "trimtab tokenizer train --tag '<gui>'" in caught.value.problems[0].fix
