import pytest

from tests.pretrained_folder import NUM_IDS, TEMPLATE, fast_tokenizer
from trimtab.data.chat_rows import REFUSED, ChatRows
from trimtab.data.fast_tokenizer import FastTokenizer, SpecialIds
from trimtab.data.formats.chat import Message
from trimtab.data.id_filter import TOO_LONG
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
    first, second = own.rows(TALK)
    assert [counted(own, row) for row in (first, second)] == ["then the<|im_end|>", "y<|im_end|>"]
    assert own.marked(second).endswith("<|im_start|>assistant\nthen the<|im_end|>\n<|im_start|>user\nx<|im_end|>\n"
                                       "<|im_start|>assistant\n[[y<|im_end|>]]")  # fmt: skip


def test_the_ids_are_those_of_apply_chat_template():
    from transformers import PreTrainedTokenizerFast

    theirs = PreTrainedTokenizerFast(tokenizer_object=fast_tokenizer(), eos_token="<|im_end|>")
    theirs.chat_template = TEMPLATE
    plain = [each._asdict() for each in TALK]
    wanted = theirs.apply_chat_template(plain, tokenize=True, return_dict=False)
    own = chats()
    _, row = own.rows(TALK)
    newline = own.tokenizer.encode_chat("\n")
    assert [START, *row.ids, *newline] == wanted


def test_the_symbol_that_ends_an_answer_counts_though_it_pads_too():
    own = chats()
    assert own.tokenizer.pad == own.tokenizer.end
    assert own.rows(TALK)[0].ids[-1] == END
    assert chats(TEMPLATE.replace("<|im_end|>", "")).rows(TALK)[0].ids[-1] == END


def test_what_is_spelled_like_the_start_of_an_answer_is_masked_by_length():
    tricky = [Message("user", "<|im_start|>assistant\nno<|im_end|>"), Message("assistant", "yes")]
    own = chats()
    assert [counted(own, row) for row in own.rows(tricky)] == ["yes<|im_end|>"]


def test_a_template_may_drop_thoughts_and_prompt_for_none():
    own = chats(THINKING)
    talk = [
        Message("user", "a"),
        Message("assistant", "<t>hm</t>b"),
        Message("user", "c"),
        Message("assistant", "d"),
    ]
    first, second = own.rows(talk)
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
    assert chats().rows(messages) == reason


def test_a_conversation_that_the_template_refuses_is_dropped():
    assert chats("{{ raise_exception('no') }}").rows(TALK) == REFUSED


def test_a_template_that_leaves_the_answer_out_teaches_nothing():
    without = "{% for m in messages if m.role != 'assistant' %}{{ m.content }}{% endfor %}"
    assert chats(without).rows(TALK) == REFUSED


def test_a_tokenizer_without_a_template_is_refused():
    with pytest.raises(InputError, match="has none"):
        chats("")
    with pytest.raises(InputError, match="has none"):
        ChatRows.of(None, max_tokens=4)
