import pytest

from tests.pretrained_folder import NUM_IDS, TEMPLATE, fast_tokenizer
from trimtab.data import chat_rows
from trimtab.data.chat_rows import ChatRows
from trimtab.data.chat_template import render_chat
from trimtab.data.fast_tokenizer import FastTokenizer, SpecialIds
from trimtab.data.formats.chat import Message
from trimtab.data.id_filter import NO_TOOLS, NOT_LEARNED, REFUSED, TOO_LONG
from trimtab.data.transforms.apply import EMPTY_TARGET
from trimtab.errors import InputError

PAD, START, END = 2, 1, 2
TALK = [
    Message("system", "be brief"),
    Message("user", "the"),
    Message("assistant", "then the"),
    Message("user", "x"),
    Message("assistant", "y"),
]
THINKING = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.role == 'assistant' and not loop.last %}"
    "{{ m.content.split('</t>')[-1] }}{% else %}{{ m.content }}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n<t>\n</t>{% endif %}"
)
"""Drops the thoughts of earlier turns, and asks for an answer without thoughts, as Qwen3 does."""


def chats(template=TEMPLATE, *, max_tokens=400):
    special = SpecialIds(pad=PAD, unknown=0, start=START, end=END)
    content = fast_tokenizer().to_str().encode()
    return ChatRows.of(
        FastTokenizer(content, special=special, num_ids=NUM_IDS, template=template), max_tokens=max_tokens
    )


def counted(own, row):
    return own.tokenizer.decode_with_symbols(row.ids[row.prompt :])


def test_each_answer_counts_once_behind_the_whole_conversation_before_it():
    own = chats()
    first, second = own.rows(TALK).rows
    assert [counted(own, row) for row in (first, second)] == ["then the<|im_end|>", "y<|im_end|>"]
    assert own.marked(second).endswith("<|im_start|>assistant\nthen the<|im_end|>\n<|im_start|>user\nx<|im_end|>\n"
                                       "<|im_start|>assistant\n[[y<|im_end|>]]")  # fmt: skip


def test_the_ids_are_those_of_apply_chat_template():
    from transformers import PreTrainedTokenizerFast

    theirs = PreTrainedTokenizerFast(tokenizer_object=fast_tokenizer(), eos_token="<|im_end|>")
    theirs.chat_template = TEMPLATE
    plain = [each.to_template() for each in TALK]
    wanted = theirs.apply_chat_template(plain, tokenize=True, return_dict=False)
    own = chats()
    _, row = own.rows(TALK).rows
    newline = own.tokenizer.encode_chat("\n")
    assert [START, *row.ids, *newline] == wanted


def test_the_symbol_that_ends_an_answer_counts_though_it_pads_too():
    own = chats()
    assert own.tokenizer.pad == own.tokenizer.end
    assert own.rows(TALK).rows[0].ids[-1] == END
    assert chats(TEMPLATE.replace("<|im_end|>", "")).rows(TALK).rows[0].ids[-1] == END


def test_what_is_spelled_like_the_start_of_an_answer_is_masked_by_length():
    tricky = [Message("user", "<|im_start|>assistant\nno<|im_end|>"), Message("assistant", "yes")]
    own = chats()
    assert [counted(own, row) for row in own.rows(tricky).rows] == ["yes<|im_end|>"]


def test_a_template_may_drop_thoughts_and_prompt_for_none():
    own = chats(THINKING)
    talk = [
        Message("user", "a"),
        Message("assistant", "<t>hm</t>b"),
        Message("user", "c"),
        Message("assistant", "d"),
    ]
    first, second = own.rows(talk).rows
    assert counted(own, first) == "hm</t>b<|im_end|>"
    assert "hm" not in own.marked(second)


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        ([Message("user", "alone")], EMPTY_TARGET),
        ([Message("user", "a"), Message("assistant", " ")], EMPTY_TARGET),
        ([Message("user", "a" * 500), Message("assistant", "b")], TOO_LONG),
    ],
)
def test_a_conversation_without_an_answer_to_learn_is_dropped_and_says_why(messages, reason):
    assert chats().rows(messages) == ([], [reason], "")


def test_a_conversation_that_the_template_refuses_is_dropped():
    assert chats("{{ raise_exception('no') }}").rows(TALK) == ([], [REFUSED, REFUSED], "no")


def test_a_template_that_leaves_the_answer_out_teaches_nothing():
    without = "{% for m in messages if m.role != 'assistant' %}{{ m.content }}{% endfor %}"
    assert chats(without).rows(TALK).dropped == [REFUSED, REFUSED]


def test_a_tokenizer_without_a_template_is_refused():
    with pytest.raises(InputError, match="has none"):
        chats("")
    with pytest.raises(InputError, match="has none"):
        ChatRows.of(None, max_tokens=4)


def test_each_answer_that_is_left_out_is_counted_beside_those_that_are_kept():
    talk = [*TALK, Message("user", "a"), Message("assistant", "b" * 500), Message("assistant", " ")]
    rows, dropped, _ = chats().rows(talk)
    assert [len(rows), dropped] == [2, [TOO_LONG, EMPTY_TARGET]]


def test_an_answer_of_weight_0_is_read_and_not_learned():
    talk = [*TALK[:2], TALK[2]._replace(counts=False), *TALK[3:]]
    own = chats()
    rows, dropped, _ = own.rows(talk)
    assert ([counted(own, row) for row in rows], dropped) == (["y<|im_end|>"], [])
    assert "then the" in own.marked(rows[0])
    assert own.rows([each._replace(counts=False) for each in talk]) == ([], [NOT_LEARNED], "")


CALL = {"tool_calls": [{"type": "function", "function": {"name": "add", "arguments": {"a": 1}}}]}
TOOLS = [{"type": "function", "function": {"name": "add", "parameters": {}}}]
CALLING = (
    "{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}"
    "{% for each in m.tool_calls %}<c>{{ each.function | tojson }}</c>{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def test_calls_of_tools_are_learned_as_the_template_writes_them_and_dropped_where_it_writes_none():
    talk = [TALK[1], Message("assistant", "", fields=CALL), Message("tool", "2"), Message("assistant", "y")]
    own = chats(CALLING)
    rows, dropped, _ = own.rows(talk, TOOLS)
    said = '<c>{"name": "add", "arguments": {"a": 1}}</c><|im_end|>'
    assert ([counted(own, row) for row in rows], dropped) == ([said, "y<|im_end|>"], [])
    assert own.marked(rows[1]).startswith('<|im_start|>[{"type": "function"')
    assert chats().rows(talk) == ([], [NO_TOOLS] * 2, "the template does not write `tool_calls`")
    assert chats().rows(TALK, TOOLS) == ([], [NO_TOOLS] * 2, "the template does not write `tools`")


def test_texts_are_rendered_a_few_times_for_each_answer_however_many_calls_there_are(monkeypatch):
    rendered = []
    monkeypatch.setattr(
        chat_rows, "render_chat", lambda *given, **named: rendered.append(1) or render_chat(*given, **named)
    )
    for answers in (4, 24):
        rendered.clear()
        talk = [TALK[1], Message("assistant", "", fields=CALL), Message("tool", "2")] * answers
        assert len(chats(CALLING, max_tokens=9999).rows(talk, TOOLS).rows) == answers
        assert len(rendered) <= 2 + 5 * answers


def test_calls_that_the_template_does_not_write_drop_the_answers_from_there_on():
    calling = CALLING.replace("m.tool_calls", "([] if m.content == 'silent' else m.tool_calls)")
    talk = [TALK[1], TALK[2], TALK[1], Message("assistant", "silent", fields=CALL, counts=False), *TALK[3:]]
    rows, dropped, said = chats(calling).rows(talk, TOOLS)
    assert (len(rows), dropped, said) == (1, [NO_TOOLS], "the template does not write `tool_calls`")


def test_answers_behind_a_role_that_the_template_does_not_write_are_dropped():
    asked, said = TALK[1], TALK[2]
    talk = [asked, said, Message("context", "c"), asked, said]
    assert len(chats().rows(talk).rows) == 2
    deaf = TEMPLATE.replace("in messages", "in messages if m.role in ['user', 'assistant']")
    assert deaf != TEMPLATE
    rows, dropped, why = chats(deaf).rows(talk)
    assert (len(rows), dropped, why) == (1, [REFUSED], "the template does not write the role 'context'")


def test_tools_are_rendered_as_transformers_does():
    from transformers import PreTrainedTokenizerFast

    theirs = PreTrainedTokenizerFast(tokenizer_object=fast_tokenizer(), eos_token="<|im_end|>")
    theirs.chat_template = CALLING
    talk = [TALK[1], Message("assistant", "", fields=CALL)]
    wanted = theirs.apply_chat_template([each.to_template() for each in talk], tools=TOOLS, tokenize=False)
    assert "".join(chats(CALLING).split(talk, 1, TOOLS)) == wanted
