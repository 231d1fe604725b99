import json

import pytest

from trimtab.checks.say.pages import all_pages
from trimtab.run_findings.catalog import ALL


def test_all_rules_are_listed(call):
    result = call("rules")
    assert result.exit_code == 0
    assert all(f"{rule.code}  {rule.name}" in result.stdout for rule in all_pages())
    told = json.loads(call("rules", "--format", "json").stdout)
    assert [rule["code"] for rule in told] == [each.code for each in (*all_pages(), *ALL)]


@pytest.mark.slow
def test_every_page_that_can_be_explained_is_listed(call):
    listed = call("rules").stdout
    for page in ALL:
        assert f"{page.code}  {page.name}" in listed
        assert call("explain", page.code).stdout.startswith(f"# {page.code} {page.name}")
