import pytest

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
        "{% for m in messages %}{% for a in range(99999) | map('string') %}{% for b in range(99) | list %}"
        "{% endfor %}{% endfor %}{% endfor %}",
    ],
)
def test_a_template_that_does_not_end_is_refused(template, monkeypatch):
    monkeypatch.setattr(chat_template, "LEAST_STEPS", 100_000)
    with pytest.raises(InputError, match="does not terminate"):
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
