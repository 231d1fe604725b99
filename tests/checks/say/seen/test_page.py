from trimtab.checks.say.seen.page import seen_page_text
from trimtab.checks.say.seen_while_running import PAGES


def test_a_page_says_what_why_and_what_to_do():
    for page in PAGES:
        text = seen_page_text(page)
        assert text.startswith(f"# {page.code} {page.name}\n")
        assert page.why in text
        assert page.symptoms
