from pathlib import Path

from trimtab.checks.say.site import for_browsers, generated_pages

ROOT = Path(__file__).parents[3]


def test_the_pages_in_docs_are_those_of_the_rules():
    pages = generated_pages()
    stale = [
        name
        for name, text in pages.items()
        if not (ROOT / name).exists() or (ROOT / name).read_text(encoding="utf-8") != text
    ]
    assert stale == [], "run python tools/write_pages.py"
    written = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs" / "rules").glob("*.md")}
    assert sorted(written - set(pages)) == []


def test_a_browser_shows_what_a_terminal_does():
    text = "> <steps> and `<b>`\n\n```yaml\na: <c>\n```\n\n<https://a.b>\n\n"
    text += "Makes real: S0-01, S4-07 of [the tips](../tips.md).\n"
    assert for_browsers(text) == (
        "> &lt;steps> and `<b>`\n\n```yaml\na: <c>\n```\n\n<https://a.b>\n\n"
        "Makes real: [S0-01](../tips/S0.md), [S4-07](../tips/S4.md).\n"
    )
