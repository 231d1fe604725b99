import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2 import Environment

from tests.for_each import for_each
from tests.pretrained_folder import TEMPLATE
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


def as_plain_jinja_does(template, said, *, turns=2):
    messages = [Message("user", said), Message("assistant", f"<think>{said}</think>\n{said}")] * turns
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


@for_each("template", [QWEN, LLAMA, CHATML, GEMMA, MISTRAL])
def test_conversations_of_many_short_messages_are_rendered(template):
    as_plain_jinja_does(template, "a", turns=1000)
