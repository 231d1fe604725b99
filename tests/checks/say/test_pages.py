from tests.for_each import for_each
from trimtab.checks.say.pages import all_pages, page_file, page_of


def test_every_page_is_found_by_code():
    codes = [rule.code for rule in all_pages()]
    assert codes == sorted(set(codes))
    for rule in all_pages():
        assert page_of(rule.code) is rule
    assert page_file(page_of("S104")) == "docs/rules/S104.md"


@for_each("code", ["C190", "C191", "C192", "C193", "C194"])
def test_what_silences_are_held_to_has_pages_too(code):
    assert page_of(code).code == code
