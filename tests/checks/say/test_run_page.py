from trimtab.checks.say.run_page import run_page_text
from trimtab.run_findings.catalog import ALL


def test_a_page_says_what_why_and_what_to_do():
    for page in ALL:
        text = run_page_text(page)
        assert text.startswith(f"# {page.code} {page.name}\n")
        assert page.why in text
        assert page.symptoms
