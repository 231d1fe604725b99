import re
from pathlib import Path

from trimtab.checks import rules
from trimtab.checks.catalogue import OF_SCRIPTS, all_codes, all_rules, rules_by_name, rules_for


def test_every_file_of_the_folder_is_a_rule_in_the_order_of_codes():
    codes = [rule.code for rule, _ in all_rules()]
    names = {path.stem for path in Path(rules.__path__[0]).glob("*.py")} - {"__init__"}
    assert {f"{rule.code.lower()}_{rule.name.replace('-', '_')}" for rule, _ in all_rules()} == names
    assert codes == sorted(set(codes))


def test_a_rule_is_found_by_code_name_and_alias_whatever_their_case():
    found = rules_by_name()
    for rule, _ in all_rules():
        assert found[rule.code.lower()] == found[rule.name.lower()] == (rule,)
    assert found["tt401"] == found["s104"]


def test_an_alias_leads_to_every_rule_that_has_it():
    found = rules_by_name()
    own = {name for rule, _ in all_rules() for name in (rule.code.lower(), rule.name)}
    for alias in {alias.lower() for rule, _ in all_rules() for alias in rule.aliases} - own:
        having = [rule for rule, _ in all_rules() if alias in map(str.lower, rule.aliases)]
        assert list(found[alias]) == having


def test_rules_of_scripts_are_left_out_for_other_files():
    others = {rule.code for rule, _ in rules_for("yaml")}
    assert others | OF_SCRIPTS == set(all_codes()) == {rule.code for rule, _ in all_rules()}
    assert not others & OF_SCRIPTS


def test_rules_of_scripts_look_at_nothing_but_the_script():
    """They are asked once for a script with several configurations, so they must not look at one of those."""
    of_one = re.compile(r"\brun\.(value|written|keys|concepts|table|nearby|tool|kind)\b|\bown\(|\bis_unset\(")
    for path in Path(rules.__path__[0]).glob("*.py"):
        if path.stem[:4].upper() in OF_SCRIPTS:
            _, _, check = path.read_text(encoding="utf-8").partition("\ndef check(")
            assert not of_one.search(check), path.stem
