import json

import pytest

from trimtab.data.formats.conversations import Conversations, open_conversations
from trimtab.errors import InputError

LINES = [
    {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]},
    {"conversations": [{"from": "human", "value": "c"}, {"from": "gpt", "value": "d"}]},
    {"prompt": "e", "completion": "f"},
    {"prompt": [{"role": "user", "content": "g"}], "completion": [{"role": "assistant", "content": "h"}]},
]


def opened(tmp_path, *lines):
    path = tmp_path / "chat.jsonl"
    path.write_text("\n".join(each if isinstance(each, str) else json.dumps(each) for each in lines) + "\n")
    return open_conversations(path, cache=tmp_path / "cache")


def test_each_shape_of_a_line_is_a_conversation(tmp_path):
    found = opened(tmp_path, *LINES[:2], "", *LINES[2:])
    assert isinstance(found.documents, Conversations)
    told = [found.documents.messages(found.documents.line_of(place)) for place in found.places]
    assert [[tuple(message) for message in each] for each in told] == [
        [("user", one), ("assistant", other)] for one, other in ("ab", "cd", "ef", "gh")
    ]
    assert found.passage(2).text == "<|im_start|>user\ne<|im_end|>\n<|im_start|>assistant\nf<|im_end|>\n"


@pytest.mark.parametrize(
    ("line", "got"),
    [
        ({"text": "a"}, "no messages, no prompt and completion, no instruction and output: only text"),
        ({"prompt": "a", "completion": 1}, "no list of messages"),
        ({"messages": [{"role": "user"}]}, "message 1 has no text"),
        ({"prompt": "\ud800", "completion": "b"}, "half a character"),
        ("[1]", "no JSON object"),
    ],
)
def test_a_line_without_a_conversation_is_refused_by_its_number(tmp_path, line, got):
    with pytest.raises(InputError, match=r"chat\.jsonl:2 has no conversation") as error:
        opened(tmp_path, LINES[0], line)
    assert got in error.value.problems[0].got
