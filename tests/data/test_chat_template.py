import pytest

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
    plain = [each._asdict() for each in ASKED]
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


@for_each("template", ["{{ 'x' * 10**18 }}", "{{ 'é'.encode('ascii') }}", "{{ [1][messages|length] + 1 }}"])
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
