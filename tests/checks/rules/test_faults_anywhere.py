"""Faults of training code are named wherever they stand and whatever the variables are called; what is right is not."""

import re
from dataclasses import replace
from textwrap import indent

from tests.checks.examined import diagnosed
from tests.for_each import for_each
from trimtab.checks.catalogue import all_rules

CODES = [
    "C127", "C128", "C129", "D124", "D125", "D126", "D127", "D128", "D129", "D130", "D131", "D132", "E117", "E118",
    "E119", "E120", "E121", "K113", "L121", "L122", "M125", "M126", "M127", "M129", "M321", "M322", "M323", "M324",
    "M325", "M326", "M327", "M328", "P119", "P120", "P312", "S161", "S162", "S163", "S164", "S165", "S166", "S167",
    "S168", "S169", "S317",
]  # fmt: skip
PAIRS = {rule.code: (rule, check) for rule, check in all_rules() if rule.code in CODES}
OTHER_NAMES = {
    "model": "network_one", "optimizer": "adam", "loader": "batches", "x": "inputs", "y": "wanted", "scaler": "amp",
    "dataset": "rows", "tokenizer": "tok", "epoch": "round_", "unet": "denoiser", "arguments": "settings",
}  # fmt: skip


def in_main(text):
    return f"def main():\n{indent(text, '    ')}\n\nif __name__ == '__main__':\n    main()\n"


def in_try(text):
    return f"try:\n{indent(text, '    ')}\nexcept KeyboardInterrupt:\n    pass\n"


def with_other_names(text):
    """Variables are called something else; arguments, attributes and texts keep their names."""
    lines = []
    for line in text.split("\n"):
        for old, new in OTHER_NAMES.items():
            line = re.sub(rf"(?<![\w.'\"]){old}\b(?!['\"])(?!=[^=])", new, line)
        lines.append(line)
    return "\n".join(lines)


FORMS = [in_main, in_try, with_other_names]
each_code_in_each_form = for_each(("code", "form"), [(code, form) for code in CODES for form in FORMS])


@each_code_in_each_form
def test_a_fault_is_named_wherever_it_stands(code, form):
    rule, check = PAIRS[code]
    found = diagnosed(check, replace(rule.bad, text=form(rule.bad.text)))
    assert {each.finding.code for each in found} == {code}


@each_code_in_each_form
def test_what_is_right_is_left_alone_wherever_it_stands(code, form):
    rule, check = PAIRS[code]
    assert diagnosed(check, replace(rule.good, text=form(rule.good.text))) == []
