import hashlib
import json

import pytest

from tests.for_each import for_each
from trimtab.data.formats import conversations
from trimtab.data.formats.chat import Conversation, messages_of
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
    told = [found.documents.conversation(found.documents.line_of(place)) for place in found.places]
    assert [[(message.role, message.content) for message in each.messages] for each in told] == [
        [("user", one), ("assistant", other)] for one, other in ("ab", "cd", "ef", "gh")
    ]
    assert found.passage(2).text == "<|im_start|>user\ne<|im_end|>\n<|im_start|>assistant\nf<|im_end|>\n"


def test_roles_of_other_templates_are_read(tmp_path):
    roles = ("model", "context", "tool_response", "function_call", "Alice")
    found = opened(tmp_path, *(said({"role": role, "content": "a"}) for role in roles))
    assert [found.documents.conversation(line).messages[0].role for line in range(len(roles))] == [*roles]


def test_lines_are_checked_again_where_a_table_was_made_without_the_checks(tmp_path, monkeypatch):
    fine = opened(tmp_path, *LINES)
    name = f"conversations {fine.documents.lines.fingerprint}"
    assert fine.fingerprint == hashlib.sha256(name.encode()).hexdigest()  # what runs of before have

    wrong = {"messages": [{"role": "asistant", "content": "b"}]}
    monkeypatch.setattr(conversations, "conversation_of", lambda fields: Conversation(messages_of(fields)))
    monkeypatch.setattr(conversations, "CHECKED", "")
    opened(tmp_path, wrong)
    monkeypatch.undo()
    with pytest.raises(InputError, match="did you mean 'assistant'"):
        opened(tmp_path, wrong)


def said(*messages):
    return {"messages": [*messages]}


@for_each(
    ("line", "got"),
    [
        ({"text": "a"}, "no messages, no prompt and completion, no instruction and output: only text"),
        ({"prompt": "a", "completion": 1}, "no list of messages"),
        ({"messages": [{"role": "user"}]}, "message 1 has no text"),
        ({"prompt": "\ud800", "completion": "b"}, "half a character"),
        ("[1]", "no JSON object"),
        ({"text": "a", "messages": "b"}, "no list of messages"),
        (
            said({"role": "asistant", "content": "b"}),
            "message 1 has the role 'asistant'; did you mean 'assistant'?",
        ),
        (said({"role": "User", "content": "b"}), "message 1 has the role 'User'; did you mean 'user'?"),
        (said({"role": "assistant", "content": "b", "weight": 0.5}), "message 1 has the weight 0.5: 0 or 1"),
        (said({"role": "user", "content": "b", "weight": 1}), "only answers are learned"),
        (said({"role": "assistant", "tool_calls": "add"}), "`tool_calls` that are not a list"),
        ({**said({"role": "user", "content": "b"}), "tools": "add"}, "`tools` is not valid JSON"),
        ({**said({"role": "user", "content": "b"}), "tools": {"a": 1}}, "`tools` is not a list"),
    ],
)
def test_a_line_without_a_conversation_is_refused_by_its_number(tmp_path_factory, line, got):
    tmp_path = tmp_path_factory.mktemp("lines")
    with pytest.raises(InputError, match=r"chat\.jsonl:2 has no conversation") as error:
        opened(tmp_path, LINES[0], line)
    assert got in error.value.problems[0].got


def test_weights_tools_and_calls_are_read_and_prompts_are_not_learned(tmp_path):
    call = {"type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
    messages = [
        {"role": "user", "content": "a", "weight": 0},
        {"role": "assistant", "content": None, "tool_calls": [call], "weight": 0},
        {"role": "tool", "content": "1", "tool_call_id": "x"},
        {"role": "assistant", "content": "b", "weight": 1},
    ]
    turns = [{"role": "assistant", "content": "c"}, {"role": "user", "content": "d"}]
    found = opened(
        tmp_path,
        {"messages": messages, "tools": json.dumps([{"name": "add"}])},
        {"prompt": turns, "completion": "e"},
    ).documents
    (first, tools), (second, none) = found.conversation(0), found.conversation(1)
    assert [each.counts for each in first] == [False, False, True, True]
    assert first[1].to_template()["tool_calls"][0]["function"]["arguments"] == {"a": 1}
    assert first[2].to_template() == {"role": "tool", "content": "1", "tool_call_id": "x"}
    assert (tools, none) == ([{"name": "add"}], ())
    assert [each.counts for each in second] == [False, False, True]
