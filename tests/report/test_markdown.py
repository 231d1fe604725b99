import re

from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.checks.say.page import page_text
from trimtab.checks.say.pages import all_pages
from trimtab.report.markdown import html_of

TAGS = {"h3", "p", "blockquote", "ul", "li", "pre", "code", "strong", "em", "a"}


@for_each(
    ("text", "html"),
    [
        ("# A `b` c", "<h3>A <code>b</code> c</h3>"),
        ("one\ntwo\n\nthree", "<p>one two</p>\n<p>three</p>"),
        ("- a\n  b\n- **c** *d*", "<ul><li>a b</li><li><strong>c</strong> <em>d</em></li></ul>"),
        ("```yaml\na: <1>\n```", '<pre tabindex="0"><code>a: &lt;1&gt;</code></pre>'),
        ("> said", "<blockquote>said</blockquote>"),
        ("<https://a.org/b>", '<p><a href="https://a.org/b" rel="noreferrer">https://a.org/b</a></p>'),
        ("[x](https://a.org) [y](../tips.md)", '<p><a href="https://a.org" rel="noreferrer">x</a> y</p>'),
        ("`**a**` 2*3*4", "<p><code>**a**</code> 2*3*4</p>"),
    ],
)
def test_markdown_becomes_html(text, html):
    assert html_of(text) == html


def tags(html):
    return {name.lower() for name in re.findall(r"</?([a-zA-Z0-9]+)", html)}


@given(st.text(alphabet="<>\"'&`*[]()-># \nabhttps:/javascript", max_size=80))
def test_no_text_makes_a_tag_or_an_attribute_of_its_own(text):
    html = str(html_of(text))
    assert tags(html) <= TAGS
    for target in re.findall(r'href="([^"]*)"', html):
        assert target.startswith(("http://", "https://"))
    bare = re.sub(r'<a href="[^"<>]*" rel="noreferrer">|<pre tabindex="0">|</?[a-z0-9]+>', "", html)
    assert "<" not in bare
    assert ">" not in bare


def test_every_page_of_a_rule_is_read_to_its_end():
    for rule in all_pages():
        text = page_text(rule)
        html = html_of(text)
        assert tags(html) <= TAGS
        assert "```" not in html
        assert html.count("<pre") == text.count("\n```") // 2
