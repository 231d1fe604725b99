import pytest


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
    assert f"nothing is known of `{words}`" in result.stderr
