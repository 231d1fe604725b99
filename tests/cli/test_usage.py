import os

import pytest

from tests.cli.refusal import has_four_parts, refused


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("traen", ["traen: no such command", "did you mean 'train'?"]),
        ("train", ["RECIPE: missing", "train --help`"]),
        ("average", ["CHECKPOINT: missing"]),
        ("replay run", ["--step: missing", "The step to repeat"]),
        ("--nothing", ["--nothing: no such option"]),
        ("--show-completion", ["--show-completion: no such option", "`trimtab completion --help`"]),
        ("--install-completion zsh", ["`trimtab completion SHELL`, for bash, zsh or fish"]),
        ("train a.yaml --ou x", ["--ou: no such option", "did you mean `--out`?"]),
        ("train a.yaml --lr 1e-4", ["--lr: no such option", "`step.optimizer.learning_rate=VALUE`"]),
        ("train a.yaml --seed 4", ["`seed=VALUE`"]),
        ("train a.yaml --warmup-steps=5", ["`step.schedule.warmup=VALUE`"]),
        ("translate run --input", ["--input: needs a value"]),
        ("translate run --sample=3", ["--sample: takes no value"]),
        (
            "translate run --ensemble-mode foo",
            ["--ensemble-mode: invalid value", "'foo'", "'linear', 'log_linear'"],
        ),
        ("demo --minutes 0.01", ["--minutes: invalid value", "0.1"]),
        ("demo --minutes soon", ["--minutes: invalid value", "soon", "number"]),
        ("tokenizer train --vocab-size 5", ["did you mean `--vocabulary-size`?"]),
        ("tokenizer traen", ["traen: no such command"]),
        ("generate run prompts.txt", ["prompts.txt: unexpected argument", "`--input prompts.txt`"]),
        ("export run more --to hf --out o", ["more: unexpected argument", "leave it out"]),
    ],
)
def test_words_that_the_parser_does_not_take_are_refused_in_four_parts(call, arguments, words):
    result = call(*arguments.split())
    message = refused(result, *words)
    assert has_four_parts(message)
    assert (result.stdout, "\u256d" in message) == ("", False)


def test_a_text_that_may_not_be_read_is_refused_in_four_parts(call, tmp_path, monkeypatch):
    (tmp_path / "dev.en").touch()
    monkeypatch.setattr(os, "access", lambda *_: False)
    message = refused(call("translate", "run", "--input", tmp_path / "dev.en"), "--input", "is not readable")
    assert has_four_parts(message)


def test_no_words_at_all_show_the_help(call):
    result = call()
    assert result.exit_code == 2
    assert "Usage" in result.output
