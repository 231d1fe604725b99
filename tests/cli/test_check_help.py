from trimtab.cli.check import check_parser
from trimtab.cli.check_help import check_help, suggestions


def test_the_page_lists_every_option_with_its_values():
    text = " ".join(check_help(check_parser(())).split())
    assert "--format text|json|sarif|github Output format. [default: text]" in text
    assert "Fixes: --fix Apply fixes" in text


def test_a_shell_completes_options():
    assert [each.value for each in suggestions(check_parser(()), "--fo")] == ["--format"]
    assert len(suggestions(check_parser(()), "")) > 10
