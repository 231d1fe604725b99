from dataclasses import replace

from trimtab.checks.rule import Example
from trimtab.checks.rules.s104_warmup_longer_than_run import RULE
from trimtab.checks.say.page import page_text, readable


def test_a_page_holds_all_that_the_rule_says():
    text = page_text(RULE)
    words = [
        "# S104 warmup-longer-than-run",
        "An error",
        "still rising",
        "*arithmetic*",
        "below <steps> steps",
    ]
    for part in [*words, RULE.bad.text, RULE.good.text, "- loss flat", "Also known as TT401"]:
        assert part in text
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


def test_files_beside_and_versions_are_part_of_an_example():
    example = Example("a.yaml", "a: 1\n", versions="peft=0.21", beside=(("config.json", "{}"),))
    text = page_text(replace(RULE, bad=example, tips=("S0-102",)))
    assert (
        "With `peft=0.21`:\n\n`a.yaml`\n\n```yaml\na: 1\n```\n\n`config.json` beside it\n\n```json\n{}\n```"
        in text
    )
    assert "S0-102" in text


def test_fields_are_shown_as_words():
    assert readable("{steps:,} of {{braces}}") == "<steps> of {braces}"
