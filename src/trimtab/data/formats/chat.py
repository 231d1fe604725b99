"""Conversations in JSONL: the messages of a chat, and how they are written out in ChatML as a document."""

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


class Message(NamedTuple):
    """What one side says."""

    role: str
    content: str


def chat_field(fields: dict[str, Any]) -> str:
    """The field of an object that holds the messages of a chat; empty if there is none."""
    return next((name for name in FIELDS if name in fields), "")


def messages_of(fields: dict[str, Any]) -> list[Message]:
    """The messages of an object: its chat, its prompt and completion, or its instruction and output, with the input on
    a line of its own behind the instruction, as LLaMA-Factory joins them. ValueError, whose text says what it lacks."""
    if name := chat_field(fields):
        return read_messages(fields[name])
    if PROMPT in fields and COMPLETION in fields:
        return [*_side(fields[PROMPT], USER), *_side(fields[COMPLETION], ASSISTANT)]
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


def chat_text(messages: Any) -> str:
    """The conversation as one text: `<|im_start|>ROLE`, the content and `<|im_end|>` for each message.

    ValueError, whose text says what a message lacks.
    """
    return written(read_messages(messages))


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
    if not isinstance(content, str):
        raise ValueError(f"message {number} has no text")
    return Message(ROLES.get(role, role), content)
