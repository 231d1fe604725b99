"""Conversations in JSONL: the messages of a chat, and how they are written out in ChatML as a document."""

import difflib
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

FIELDS = ("messages", "conversations")
"""The fields that hold the messages, in the forms of OpenAI (`role`, `content`) and of ShareGPT (`from`, `value`)."""
PROMPT, COMPLETION = "prompt", "completion"
"""A question and its answer, each a text or messages, as TRL has them."""
INSTRUCTION, INPUT, OUTPUT = "instruction", "input", "output"
"""An instruction, what it is about (which may be empty or absent), and the answer, as Alpaca has them."""
ROLES = {"human": "user", "gpt": "assistant"}
"""ShareGPT's names of roles, in ChatML."""
USER, ASSISTANT = "user", "assistant"
KNOWN_ROLES = ("system", "developer", USER, ASSISTANT, "tool", "function", "ipython", "observation")
"""Those of the chat templates of published models."""
CALLS = ("tool_calls", "function_call")
"""The fields in which an assistant calls functions, as OpenAI has them."""
TOOLS, WEIGHT = "tools", "weight"
"""The field of a conversation that describes the functions, and that of a message that says with 0 that it is not
learned, as OpenAI has them."""
READ = frozenset({"role", "from", "content", "value", WEIGHT})


class Message(NamedTuple):
    """What one side says."""

    role: str
    content: str
    counts: bool = True
    """Whether it is learned where it is an answer."""
    fields: dict[str, Any] | None = None
    """What else a template may write, such as `tool_calls`."""

    @property
    def calls(self) -> list[str]:
        """Its fields that call functions."""
        return [name for name in CALLS if self.fields and self.fields.get(name)]

    def to_template(self) -> dict[str, Any]:
        """What a template is given."""
        return {"role": self.role, "content": self.content, **(self.fields or {})}


class Conversation(NamedTuple):
    """The messages of a chat."""

    messages: list[Message]
    tools: Sequence[Any] = ()
    """Descriptions of the functions that the assistant may call, for the template."""


def chat_field(fields: dict[str, Any]) -> str:
    """The field of an object that holds the messages of a chat; empty if there is none."""
    return next((name for name in FIELDS if name in fields), "")


def conversation_of(fields: dict[str, Any]) -> Conversation:
    """The conversation of an object, no role of which is a misspelt one of `KNOWN_ROLES`; ValueError, whose text says
    what it lacks."""
    messages = messages_of(fields)
    for number, each in enumerate(messages, 1):
        near = difflib.get_close_matches(each.role.lower(), [*KNOWN_ROLES, *ROLES], n=1, cutoff=0.8)
        if each.role not in KNOWN_ROLES and near:
            raise ValueError(f"message {number} has the role {each.role[:40]!r}; did you mean {near[0]!r}?")
    return Conversation(messages, _tools(fields.get(TOOLS)))


def messages_of(fields: dict[str, Any]) -> list[Message]:
    """The messages of an object: its chat, its prompt and completion, or its instruction and output, with the input on
    a line of its own behind the instruction, as LLaMA-Factory joins them. ValueError, whose text says what it lacks."""
    if name := chat_field(fields):
        return read_messages(fields[name])
    if PROMPT in fields and COMPLETION in fields:
        given = [each._replace(counts=False) for each in _side(fields[PROMPT], USER)]
        return [*given, *_side(fields[COMPLETION], ASSISTANT)]
    if INSTRUCTION in fields and OUTPUT in fields:
        asked = [fields[INSTRUCTION], *([fields[INPUT]] if fields.get(INPUT) else [])]
        if not all(isinstance(each, str) for each in (*asked, fields[OUTPUT])):
            raise ValueError(f"{INSTRUCTION}, {INPUT} or {OUTPUT} is no text")
        system = fields.get("system")
        before = [Message("system", system)] if isinstance(system, str) and system else []
        return [*before, Message(USER, "\n".join(asked)), Message(ASSISTANT, fields[OUTPUT])]
    raise ValueError(
        f"no {FIELDS[0]}, no {PROMPT} and {COMPLETION}, no {INSTRUCTION} and {OUTPUT}: only "
        f"{', '.join(fields)[:100]}"
    )


def read_messages(messages: Any) -> list[Message]:
    """The messages of a list; ValueError, whose text says what a message lacks."""
    if not isinstance(messages, list) or not messages:
        raise ValueError("no list of messages")
    return [_message(number, each) for number, each in enumerate(messages, 1)]


def chat_text(messages: Any, tools: Any = None) -> str:
    """The conversation as one text: `<|im_start|>ROLE`, the content and `<|im_end|>` for each message.

    ValueError, whose text says what a message lacks, or what of it only a chat template can write.
    """
    read = read_messages(messages)
    for number, each in enumerate(read, 1):
        if each.calls or not each.counts:
            name = each.calls[0] if each.calls else f"{WEIGHT}: 0"
            raise ValueError(f"message {number} has `{name}`, which only `learn: answers` reads")
    if tools:
        raise ValueError(f"`{TOOLS}`, which only `learn: answers` reads")
    return written(read)


def written(messages: list[Message]) -> str:
    """Messages in ChatML."""
    return "".join(f"<|im_start|>{each.role}\n{each.content}<|im_end|>\n" for each in messages)


def _side(said: Any, role: str) -> list[Message]:
    return [Message(role, said)] if isinstance(said, str) else read_messages(said)


def _message(number: int, message: Any) -> Message:
    if not isinstance(message, dict):
        raise ValueError(f"message {number} is no object")
    role = message.get("role", message.get("from"))
    content = message.get("content", message.get("value"))
    if isinstance(content, list):  # parts, as of a message with images
        parts = [part.get("text") if isinstance(part, dict) else None for part in content]
        content = "".join(parts) if all(isinstance(part, str) for part in parts) else None
    if not isinstance(role, str) or not role.strip():
        raise ValueError(f"message {number} has no role")
    fields = {name: value for name, value in message.items() if name not in READ and value is not None}
    if content is None and any(fields.get(name) for name in CALLS):
        content = ""
    if not isinstance(content, str):
        raise ValueError(f"message {number} has no text")
    role = ROLES.get(role, role)
    if fields.get("tool_calls") is not None:
        fields["tool_calls"] = _tool_calls(number, fields["tool_calls"])
    return Message(role, content, _counts(number, role, message.get(WEIGHT)), fields or None)


def _counts(number: int, role: str, weight: Any) -> bool:
    if weight is None:
        return True
    if isinstance(weight, bool) or weight not in (0, 1):
        raise ValueError(f"message {number} has the {WEIGHT} {str(weight)[:40]}: 0 or 1 is allowed")
    if weight and role != ASSISTANT:
        raise ValueError(
            f"message {number}, of the role {role!r}, has the {WEIGHT} 1: only answers are learned"
        )
    return bool(weight)


def _tools(tools: Any) -> Sequence[Any]:
    """The tools of a conversation, which data sets hold as a list or as the JSON text of one."""
    if isinstance(tools, str) and tools.strip():
        try:
            tools = json.loads(tools)
        except ValueError:
            raise ValueError(f"`{TOOLS}` is not valid JSON") from None
    if not tools:
        return ()
    if not isinstance(tools, list):
        raise ValueError(f"`{TOOLS}` is not a list")
    return tools


def _tool_calls(number: int, calls: Any) -> list[dict[str, Any]]:
    """The calls with their arguments as objects, which templates write as JSON; OpenAI has them as text already."""
    if not isinstance(calls, list) or not all(isinstance(each, dict) for each in calls):
        raise ValueError(f"message {number} has `tool_calls` that are not a list of objects")
    return [_with_arguments_read(each) for each in calls]


def _with_arguments_read(call: dict[str, Any]) -> dict[str, Any]:
    if isinstance(function := call.get("function"), dict):
        return {**call, "function": _with_arguments_read(function)}
    try:
        arguments = json.loads(call["arguments"])
    except (KeyError, TypeError, ValueError, RecursionError):
        return call
    return {**call, "arguments": arguments} if isinstance(arguments, dict) else call
