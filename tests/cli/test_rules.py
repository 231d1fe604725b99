import json

from trimtab.checks.say.pages import all_pages


def test_all_rules_are_listed(call):
    result = call("rules")
    assert result.exit_code == 0
    assert all(f"{rule.code}  {rule.name}" in result.stdout for rule in all_pages())
    told = json.loads(call("rules", "--format", "json").stdout)
    assert [rule["code"] for rule in told] == [rule.code for rule in all_pages()]
