import pytest

from trimtab.cli.explain import is_question, run_explain


@pytest.mark.parametrize("words", [["S104"], ["warmup-longer-than-run"], ["E901"], ["loss", "is", "NaN"]])
def test_a_page_or_an_answer_is_printed(call, words):
    result = call("explain", *words)
    assert result.exit_code == 0
    assert result.stdout.startswith("# ")


def test_a_symptom_may_be_one_argument_or_several(call):
    assert (
        call("explain", "repeats the same words").stdout
        == call("explain", "repeats", "the", "same", "words").stdout
    )


@pytest.mark.parametrize("words", ["S999", "banana"])
def test_where_nothing_is_known_it_is_exit_code_1(call, words):
    result = call("explain", words)
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"no page matches `{words}`" in result.stderr


def test_a_pasted_message_may_begin_with_dashes(call):
    result = call("explain", "--load_best_model_at_end requires the save and eval strategy to match")
    assert result.exit_code == 0
    assert "C122" in result.stdout


def test_a_wish_for_help_is_no_question():
    assert is_question(["loss is nan"])
    assert is_question(["--load_best_model_at_end", "requires"])
    assert not is_question(["--help"])
    assert not is_question([])


def test_the_command_without_typer_says_the_same(call, capsys):
    assert run_explain(["--", "loss is NaN"]) == 0
    assert capsys.readouterr().out == call("explain", "loss is NaN").stdout
    assert run_explain(["S999"]) == 1
    assert "no page matches `S999`" in capsys.readouterr().err
