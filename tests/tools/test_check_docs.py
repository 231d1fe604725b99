from pathlib import Path

import pytest

from tests.tools.loaded import load_tool

ROOT = Path(__file__).parents[2]
problems = load_tool("check_docs").problems
pages = load_tool("markdown_pages")


def test_the_documentation_has_no_broken_link_no_orphan_and_no_hidden_text():
    assert problems(ROOT) == []


FIRST = "# First\n\n[a](a.md) [b](how_to/b.md#two-words) [out](https://a.b) ![](i.png)\n"


@pytest.fixture
def written(tmp_path):
    """A small documentation, with other text where it is given."""

    def run(**texts: str) -> list[str]:
        files = {
            "docs/README.md": FIRST,
            "docs/a.md": "# A\n",
            "docs/how_to/b.md": "# B\n\n## Two words\n\n[first](../README.md)\n",
            "docs/i.png": "",
            "README.md": "# Root\n\n[docs](docs/README.md)\n",
            "mkdocs.yml": "nav: [README.md, {More: [a.md, B: how_to/b.md]}]\n",
        }
        for name, text in {**files, **texts}.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return problems(tmp_path)

    return run


def test_a_sound_documentation_has_no_problems(written):
    assert written() == []


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("docs/a.md", "# A\n\n[x](no.md)\n", "docs/a.md: no.md does not exist"),
        ("docs/a.md", "# A\n\n[x](how_to)\n", "docs/a.md: how_to is a folder: link to its README.md"),
        ("docs/a.md", "# A\n\n[x](how_to/b.md#three)\n", "docs/a.md: how_to/b.md#three has no such heading"),
        ("docs/a.md", "# A\n\n[x](#b)\n", "docs/a.md: #b has no such heading"),
        ("docs/a.md", "# A\n\n![x](j.png)\n", "docs/a.md: j.png does not exist"),
        ("docs/a.md", "# A\n\n[x](../../../x.md)\n", "docs/a.md: ../../../x.md leads out of the repository"),
        ("docs/a.md", "# A\n\nat <steps>\n", "docs/a.md: <steps> is not shown: write it as code, or with &lt;"),
        ("docs/README.md", "# F\n\n[b](how_to/b.md#two-words)\n", "docs/a.md: no page links to it"),
        ("docs/rules/S1.md", "# S1\n\n[a](../a.md)\n", "docs/rules/S1.md: no page links to it"),
        ("mkdocs.yml", "nav: [README.md, a.md]\n", "docs/how_to/b.md: not in the navigation of mkdocs.yml"),
        ("mkdocs.yml", "nav: [README.md, a.md, b.md, how_to/b.md]\n", "mkdocs.yml: docs/b.md does not exist"),
        ("mkdocs.yml", "nav: [README.md, a.md, a.md, how_to/b.md]\n", "mkdocs.yml: docs/a.md is listed 2 times"),
    ],
)  # fmt: skip
def test_each_kind_of_problem_is_found(written, name, text, said):
    assert said in written(**{name: text})


def test_links_in_code_and_comments_are_none():
    text = "`[a](b)` <!-- [c](d) -->\n\n```\n[e](f)\n```\n\n[g `h`](i) ``[`x`](y)`` [k](m)\n"
    assert pages.links(text) == ["i", "m"]
    assert pages.rewritten("[a](b#c) `[d](e)`", lambda each: f"x/{each}") == "[a](x/b#c) `[d](e)`"


def test_a_rewritten_page_is_the_same_but_for_its_links():
    for path in (ROOT / "docs").rglob("*.md"):
        text = path.read_text(encoding="utf-8")
        assert pages.rewritten(text, lambda each: each) == text


def test_an_anchor_is_right_for_both_readers():
    text = "# A `b` c\n\n## Same\n\n## Same\n\n## Déjà vu\n\n## a, b & c\n"
    assert pages.anchors(text) == {
        "a-b-c",
        "same",
    }  # of the others GitHub and Python-Markdown make two anchors


def test_blocks_have_their_language_their_line_and_the_comments_above():
    text = "<!-- not run: x -->\n\n```python\na\n```\n\n- b\n\n   ```yaml\n   c: d\n   ```\n"
    first, second = pages.blocks(text)
    assert first == ("python", "a\n", 3, ("not run: x",))
    assert (second.language, second.line, second.marks) == ("yaml", 9, ())
