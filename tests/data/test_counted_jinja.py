import pytest

from tests.data.test_chat_template import ORDINARY, as_plain_jinja_does, rendered
from tests.for_each import for_each
from trimtab.data import chat_template
from trimtab.data.chat_template import Refused
from trimtab.errors import InputError


@for_each(
    "template",
    [
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{% for a in range(99999) %}{{ range(99999) | sum }}{% endfor %}",
        "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(90) }}",
        "{% for n in [90] recursive %}{% if n %}{{ loop([n - 1, n - 1]) }}{% endif %}{% endfor %}",
        "{% set ns = namespace(x='ab') %}{% for a in range(90) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
        "{% set ns = namespace(x='ab') %}{% for a in range(90) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
        "{% set ns = namespace(x='ab') %}{% for a in range(90) %}{% set ns.x %}{{ ns.x }}{{ ns.x }}{% endset %}"
        "{% endfor %}",
        "{% set ns = namespace(x=3) %}{% for a in range(90) %}{% set ns.x = ns.x * ns.x %}{% endfor %}",
        "{% set ns = namespace(x='ab') %}{% for a in range(90) %}{% set ns.x = ns.x | replace('a', 'aab') %}"
        "{{ ns.x }}{% endfor %}",
        "{{ 'x' * 10**9 }}",
        "{{ 9 ** (9 ** 9) }}",
        "{{ '%999999999d' % 1 }}",
        "{{ '{:>999999999}'.format(1) }}",
        "{{ 'x'.ljust(10**9) }}",
        "{{ 'x' | center(10**9) }}",
        "{{ 'x' | indent(10**9) }}",
        "{{ '{:{}}'.format(1, 10**9) }}",
        "{{ '{a:.999999999f}'.format_map({'a': 1}) }}",
        "{{ '%*d' | format(10**9, 1) }}",
        "{{ '%s' * 9999 % (['x' * 99999] * 9999) | list }}{{ ('%s' * 9999) | format(*['x' * 99999] * 9999) }}",
        "{{ [1] | batch(10**8, 'x') | list | length }}",
        "{{ [1] | slice(10**8) | list | length }}",
        "{{ ('x' * 99999) | wordwrap(1) }}",
        "{{ 5 | round(-10**8) }}",
        "{{ [[[1]]] | tojson(indent=10**8) }}",
        "{{ ('a' * 9999) | replace('a', 'b' * 9999) }}",
        "{{ ('a' * 9999).replace('a', 'b' * 9999) }}",
        "{{ ('a' * 9999).translate({97: 'b' * 9999}) }}",
        "{{ ('a' * 9999).join('b' * 9999) }}",
        "{{ ('b' * 9999) | join('a' * 9999) }}",
        "{{ ('\t' * 9999).expandtabs(99999) }}",
        "{{ (['x' * 9999] * 9999) | join }}",
        "{{ ([[1] * 9999] * 9999) | sum(start=[]) | length }}",
        "{{ ('a' * 99999).rfind('b' ~ 'a' * 9999) }}{{ ('a' * 99999) | trim('b' * 9999) }}",
        "{% set ns = namespace(x=[1]) %}{% for a in range(90) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}",
        "{% set ns = namespace(x=[1], y=[1]) %}{% for a in range(90) %}{% set ns.x = [ns.x, ns.x] %}"
        "{% set ns.y = [ns.y, ns.y] %}{% endfor %}{{ ns.x == ns.y }}",
        "{% set ns = namespace(x=[1]) %}{% for a in range(90) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}"
        "{{ ns.x | tojson }}",
        "{% set r = range(99999) %}{% for a in range(9999) %}{{ r | max }}{% endfor %}",
        "{% set x = 'x' * 50000 %}{% for a in range(9999) %}{% set y = x[1:] | upper %}{% endfor %}",
        "{% for a in range(9999) %}" + "long " * 99 + "{% endfor %}",
        "{% for m in messages %}{% for a in range(99999) | map('string') %}{% for b in range(99) | list %}"
        "{% endfor %}{% endfor %}{% endfor %}",
    ],
)
def test_a_template_that_does_not_end_is_refused(template, monkeypatch):
    monkeypatch.setattr(chat_template, "LEAST_STEPS", 100_000)
    with pytest.raises(InputError, match="does not terminate"):
        rendered(template)


def test_no_template_gets_a_random_text():
    with pytest.raises(Refused, match="lipsum"):
        rendered("{{ lipsum(n=100000) }}")


USES = (
    "strip()", "strip('*%{')", "split('%')", "rsplit('*', 1)", "replace('%', '{')", "replace('', '-')",
    "startswith('{')", "endswith('*')", "lower()", "upper()", "title()", "lstrip('0123456789')", "partition('{')",
    "splitlines()", "count('*')", "rfind('{')", "center(9)",
)  # fmt: skip
FILTERS = (
    "trim", "lower", "upper", "title", "length", "replace('*', '%')", "indent", "indent(2, true)", "string", "list",
    "default('x')", "escape", "truncate(9)", "wordwrap(5)", "reverse", "wordcount", "center(9)", "join('*')", "first",
    "batch(2, '-') | list", "slice(3) | list", "unique | list", "sort | join", "map('upper') | list", "urlencode",
    "striptags", "min", "groupby(0) | list", "pprint", "capitalize", "select('in', 'a*b%') | list",
)  # fmt: skip


def test_formats_escape_and_nest_as_in_plain_jinja():
    uses = (
        "{{ ('{}{!r}' | safe).format('<', messages) }}{{ '{:{}}|{a[0]}|{b[role]}'.format(1, 9, a=[2], b=messages[0]) }}"
        "{{ '{role}'.format_map(messages[0]) }}{{ '%(role)s%%' % messages[0] }}{{ '%*d|%.2f' % (5, 1, 2) }}"
        "{{ '%s-%s' | format(1, [2]) }}{{ [1, 2.5] | sum }}{{ [[1], [2]] | sum(start=[]) }}"
        "{{ messages | sum('content', '') if false else messages | map(attribute='content') | join('|') }}"
    )
    as_plain_jinja_does(uses, "**50%** {x}")


def test_methods_and_filters_give_of_any_text_what_plain_jinja_gives():
    one = "{% for m in messages %}" + "".join(f"{{{{ m.content.{use} }}}};" for use in USES) + "{% endfor %}"
    other = "{% for m in messages %}" + "".join(f"{{{{ (m.content ~ 'a') | {use} }}}};" for use in FILTERS)
    for text in ORDINARY:
        as_plain_jinja_does(one, text)
        as_plain_jinja_does(other.replace("reverse", "reverse | list") + "{% endfor %}", text)
