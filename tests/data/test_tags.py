import pytest

from tests.data.small_text import sentences, small_tokenizer
from tests.for_each import for_each
from trimtab.config.data import DataConfig
from trimtab.config.reserved import SEPARATOR
from trimtab.config.tokenizer import SentencePieceTokenizer
from trimtab.data.tags import (
    always_tagged,
    check_tags,
    trained_tags,
    unlike_training,
    untagged_sets,
    vocabulary_tags,
)
from trimtab.data.tokenizer import train_tokenizer
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


@for_each(
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
    assert finding.fix == "give one with --tag, or `tags` in Python: <ui> or <help> or <new>"
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
    check_tags(["<ui>"], tokenizer, config=config(UI))
    with pytest.raises(InputError, match="is a piece of ordinary text") as caught:
        check_tags(["▁the"], tokenizer, config=config(UI))
    assert caught.value.problems[0].allowed == "<ui>"
    with pytest.raises(InputError, match="the vocabulary has no piece '<gui>'") as caught:
        check_tags(["<gui>"], tokenizer, config=config(UI))
    assert "trimtab tokenizer train --tag '<gui>'" in caught.value.problems[0].fix


def test_a_tag_may_be_said_without_its_brackets(tmp_path):
    tokenizer = tokenizer_with(tmp_path, "<ui>", "<help>", "web")
    assert check_tags(["ui", "<help>", "web"], tokenizer, config=config(UI)) == ("<ui>", "<help>", "web")
    with pytest.raises(InputError, match="no piece 'gui'"):
        check_tags(["gui"], tokenizer, config=config(UI))


def test_all_tags_of_the_vocabulary_are_named_the_nearest_first(tmp_path):
    tokenizer = tokenizer_with(tmp_path, "<help>", "<web>", "<ui>")
    with pytest.raises(InputError) as caught:
        check_tags(["<wep>"], tokenizer, config=config(UI))
    assert caught.value.problems[0].allowed == "its tags are <web>, <help>, <ui>"


def tokenizer_with(folder, *symbols):
    config = SentencePieceTokenizer(vocabulary_size=400)
    return train_tokenizer(config, lines=sentences(300), symbols=symbols, out=folder)


def test_a_separator_is_no_tag(tmp_path):
    tokenizer = tokenizer_with(tmp_path, SEPARATOR, "<ui>")
    for tag, what in (
        ("<2de>", "the vocabulary has no piece '<2de>'"),
        (SEPARATOR, "'<sep>' is the separator, not"),
    ):
        with pytest.raises(InputError, match=what) as caught:
            check_tags([tag], tokenizer, config=config(UI))
        assert SEPARATOR not in caught.value.problems[0].allowed
        assert "<ui>" in caught.value.problems[0].allowed
    assert vocabulary_tags(tokenizer, config({"tags": [SEPARATOR]})) == (SEPARATOR, "<ui>")


def test_neither_is_that_of_context(tmp_path):
    context = {"transforms": [{"kind": "context", "separator": "<new>"}]}
    data = {"train": [{"documents": "a.jsonl", "source": "src", "target": "tgt"}], **context}
    tokenizer = tokenizer_with(tmp_path, "<new>")
    with pytest.raises(InputError, match="is the separator") as caught:
        check_tags(["<new>"], tokenizer, config=DataConfig.model_validate(data))
    (problem,) = caught.value.problems
    assert (problem.allowed, problem.fix) == ("none, because the vocabulary has no tags", "leave it out")
