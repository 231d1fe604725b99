import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2 import Environment

from tests.for_each import for_each
from tests.pretrained_folder import TEMPLATE
from trimtab.data import chat_template
from trimtab.data.chat_template import Refused, render_chat
from trimtab.data.formats.chat import Message
from trimtab.errors import InputError

ASKED = [Message("user", "a"), Message("assistant", "b")]
MARKED = (
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'assistant' %}{% generation %}{{ m.content }}"
    "{% endgeneration %}{% else %}{{ m.content }}:{% endif %}{% endfor %}"
)


def rendered(template, messages=ASKED, *, answer=False):
    return render_chat(template, messages, symbols=("<s>", "</s>"), answer=answer)


def test_it_writes_what_transformers_writes(tmp_path):
    from transformers import PreTrainedTokenizerFast

    from tests.pretrained_folder import fast_tokenizer

    theirs = PreTrainedTokenizerFast(tokenizer_object=fast_tokenizer(), bos_token="<s>", eos_token="</s>")
    plain = [each.to_template() for each in ASKED]
    for template in (
        TEMPLATE,
        MARKED,
        "{%- for m in messages -%}\n  {{ m | tojson }}\n{% break %}{% endfor %}",
    ):
        for answer in (False, True):
            wanted = theirs.apply_chat_template(
                plain, chat_template=template, tokenize=False, add_generation_prompt=answer
            )
            assert rendered(template, answer=answer) == wanted


def test_marks_of_what_the_assistant_says_are_read():
    assert rendered(MARKED) == "<s>a:b"


def test_what_the_template_refuses_says_why():
    with pytest.raises(Refused, match="roles must alternate"):
        rendered("{{ raise_exception('roles must alternate') }}")


@for_each("template", ["{{ 'é'.encode('ascii') }}", "{{ [1][messages|length] + 1 }}"])
def test_a_template_that_fails_on_its_messages_refuses_them(template):
    with pytest.raises(Refused):
        rendered(template)


def test_templates_run_in_a_sandbox_and_know_no_date():
    with pytest.raises(Refused):
        rendered("{{ messages.__class__.__mro__ }}")
    assert rendered("{{ strftime_now is defined }}") == "False"


def test_a_template_that_is_no_jinja_is_refused():
    with pytest.raises(InputError, match="is no Jinja"):
        rendered("{% for %}")


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
    with pytest.raises(InputError, match="does not come to an end"):
        rendered(template)


def test_long_conversations_and_all_forms_of_loops_are_rendered_as_before():
    long = [Message("user", "a" * 300_000), Message("assistant", "b" * 300_000)] * 3
    assert len(rendered(TEMPLATE, long)) > 1_800_000
    loops = (
        "{% for m in messages if m.role == 'user' %}{{ loop.length }}{{ loop.last }}{{ loop.index }}{% endfor %}"
        "{% for k, v in messages[0].items() %}{{ k ~ '=' ~ v }}{% endfor %}"
        "{% for x in nothing %}{% else %}-{% endfor %}"
        "{% for m in messages | map(attribute='content') %}{{ loop.nextitem }}{{ m * 2 }}{{ '%s' % m }}{% endfor %}"
        "{% for n in [[1, []]] recursive %}{{ n[0] }}{{ loop(n[1]) }}{% endfor %}{{ 2 ** 3 + 4 }}"
    )
    assert rendered(loops) == "1True1role=usercontent=a-baaabbb112"


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
QWEN = (
    "{%- set ns = namespace(last=0) %}{%- for m in messages[::-1] %}{%- if m.role == 'user' and not "
    "(m.content.startswith('<tool_response>') and m.content.endswith('</tool_response>')) %}"
    "{%- set ns.last = messages|length - 1 - loop.index0 %}{%- endif %}{%- endfor %}"
    "{%- for m in messages %}{%- set content = m.content %}{%- if m.role == 'assistant' %}"
    "{%- if '</think>' in content %}{%- set thought = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1]"
    ".lstrip('\\n') %}{%- set content = content.split('</think>')[-1].lstrip('\\n') %}{%- endif %}"
    "{{- '<|im_start|>' + m.role + '\\n' + content.strip('\\n') + (thought or '') }}{%- if loop.index0 > ns.last %}"
    "{{- '!' }}{%- endif %}{%- else %}{{- '<|im_start|>' ~ m.role ~ '\\n' ~ content }}{%- endif %}"
    "{{- '<|im_end|>\\n' }}{%- endfor %}"
)
LLAMA = (
    "{% for m in messages %}{% set content = '<|start_header_id|>' + m['role'] + '<|end_header_id|>\\n\\n' + "
    "m['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}"
    "{{ content }}{% endfor %}"
)
CHATML = "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>' }}\n{% endfor %}"
GEMMA = (
    "{{ bos_token }}{% for m in messages %}{% set role = 'model' if m['role'] == 'assistant' else m['role'] %}"
    "{{ '<start_of_turn>' + role + '\\n' + (m['content'] | trim) + '<end_of_turn>\\n' }}{% endfor %}"
)
MISTRAL = (
    "{% set loop_messages = messages[1:] %}{{ bos_token }}{% for m in loop_messages %}{% if m['role'] == 'user' %}"
    "{{ '[INST] ' + m['content'] + ' [/INST]' }}{% else %}{{ ' ' + m['content'] | trim + eos_token }}{% endif %}"
    "{% endfor %}{{ '%s, {}' % messages[-1]['content'] }}{{ '{}: {:>9}'.format(messages[0].content, 1) }}"
)


def as_plain_jinja_does(template, said):
    messages = [Message("user", said), Message("assistant", f"<think>{said}</think>\n{said}")] * 2
    plain = Environment(trim_blocks=True, lstrip_blocks=True).from_string(template)
    wanted = plain.render(
        messages=[each.to_template() for each in messages],
        bos_token="<s>",
        eos_token="</s>",
        add_generation_prompt=False,
    )
    assert rendered(template, messages) == wanted


ORDINARY = (
    "**50%** of it", "f(x) = {x * 2}", "call 5551234567 {now}", "100% of 12345678 * 2 {}", "%*d %9999999s {:>9999999}",
    "", " \n", "{{ messages }}", "| a | b |\n|---|---|\n| *x* | {y} |", "def f(x):\n    return {'a': x * 2}",
)  # fmt: skip


@for_each("template", [QWEN, LLAMA, CHATML, GEMMA, MISTRAL])
def test_templates_like_those_of_published_models_write_any_text(template):
    for text in ORDINARY:
        as_plain_jinja_does(template, text)

    @settings(max_examples=10, deadline=None)
    @given(st.text(st.sampled_from("a1*%{}<>|#- \n\té0") | st.characters(exclude_categories=["Cs"])))
    def check(text):
        as_plain_jinja_does(template, text)

    check()


def test_methods_and_filters_give_of_any_text_what_plain_jinja_gives():
    one = "{% for m in messages %}" + "".join(f"{{{{ m.content.{use} }}}};" for use in USES) + "{% endfor %}"
    other = "{% for m in messages %}" + "".join(f"{{{{ (m.content ~ 'a') | {use} }}}};" for use in FILTERS)
    for text in ORDINARY:
        as_plain_jinja_does(one, text)
        as_plain_jinja_does(other.replace("reverse", "reverse | list") + "{% endfor %}", text)
