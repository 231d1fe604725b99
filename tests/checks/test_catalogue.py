from pathlib import Path

from trimtab.checks import rules
from trimtab.checks.catalogue import all_rules, rules_by_name


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
