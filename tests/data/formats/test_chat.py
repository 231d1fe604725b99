import json

import pytest

from trimtab.config.corpora import TrainCorpus
from trimtab.data.corpus import open_corpus
from trimtab.data.formats.chat import chat_field, chat_text
from trimtab.errors import InputError

OPENAI = [{"role": "user", "content": "Save?"}, {"role": "assistant", "content": "Press Ctrl+S."}]
SHAREGPT = [{"from": "human", "value": "Save?"}, {"from": "gpt", "value": "Press Ctrl+S."}]
PARTS = [
    {"role": "user", "content": [{"type": "text", "text": "Sa"}, {"type": "text", "text": "ve?"}]},
    OPENAI[1],
]
WRITTEN = "<|im_start|>user\nSave?<|im_end|>\n<|im_start|>assistant\nPress Ctrl+S.<|im_end|>\n"


def opened(folder, rows):
    (folder / "chat.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    config = TrainCorpus(text=str(folder / "chat.jsonl"))
    return open_corpus(config, root=folder, cache=folder / "cache", passage_bytes=1000)


@pytest.mark.parametrize("messages", [OPENAI, SHAREGPT, PARTS], ids=["OpenAI", "ShareGPT", "parts"])
def test_the_messages_of_a_chat_are_written_out_in_one_form(messages):
    assert chat_text(messages) == WRITTEN


def test_other_roles_keep_their_names():
    assert (
        chat_text([{"role": "system", "content": "Be brief."}]) == "<|im_start|>system\nBe brief.<|im_end|>\n"
    )


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        ("Save?", "no list"),
        ([], "no list"),
        (["Save?"], "message 1 is no object"),
        ([OPENAI[0], {"content": "x"}], "message 2 has no role"),
        ([{"role": " ", "content": "x"}], "message 1 has no role"),
        ([{"role": "user"}], "message 1 has no text"),
        ([{"role": "user", "content": 3}], "message 1 has no text"),
        ([{"role": "user", "content": [{"type": "image_url"}]}], "message 1 has no text"),
        ([{**OPENAI[1], "weight": 0}], "message 1 has `weight: 0`, which only `learn: answers` reads"),
        ([OPENAI[0], {**OPENAI[1], "tool_calls": [{}]}], "message 2 has `tool_calls`, which only"),
    ],
)
def test_a_message_that_lacks_something_is_named(messages, said, tmp_path):
    with pytest.raises(ValueError, match=said):
        chat_text(messages)
    with pytest.raises(InputError, match="line 2 has a conversation that cannot be read") as caught:
        opened(tmp_path, [{"text": "One."}, {"messages": messages}]).check()
    (problem,) = caught.value.problems
    assert said in problem.got
    assert problem.where.endswith("chat.jsonl:2:1")


def test_conversations_stand_beside_texts_and_a_text_goes_first(tmp_path):
    both = {"text": "A text.", "messages": OPENAI}
    corpus = opened(tmp_path, [{"text": "One."}, {"messages": OPENAI}, {"conversations": SHAREGPT}, both])
    read = [corpus.pair(line)[1] for line in range(len(corpus))]
    assert [text.removesuffix("\n") for text in read] == [
        "One.",
        WRITTEN.removesuffix("\n"),
        WRITTEN.removesuffix("\n"),
        "A text.",
    ]


def test_the_field_is_that_of_the_form():
    assert [chat_field(fields) for fields in ({"messages": 1}, {"conversations": 1}, {"text": 1})] == [
        "messages",
        "conversations",
        "",
    ]
