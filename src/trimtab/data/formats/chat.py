"""Conversations in JSONL as documents: the messages of a chat, written out in ChatML."""

from typing import Any

FIELDS = ("messages", "conversations")
"""The fields that hold the messages, in the forms of OpenAI (`role`, `content`) and of ShareGPT (`from`, `value`)."""
ROLES = {"human": "user", "gpt": "assistant"}
"""ShareGPT's names of roles, in ChatML."""


def chat_field(fields: dict[str, Any]) -> str:
    """The field of an object that holds the messages of a chat; empty if there is none."""
    return next((name for name in FIELDS if name in fields), "")


def chat_text(messages: Any) -> str:
    """The conversation as one text: `<|im_start|>ROLE`, the content and `<|im_end|>` for each message.

    ValueError, whose text says what a message lacks.
    """
    if not isinstance(messages, list) or not messages:
        raise ValueError("no list of messages")
    return "".join(_message(number, each) for number, each in enumerate(messages, 1))


def _message(number: int, message: Any) -> str:
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
    return f"<|im_start|>{ROLES.get(role, role)}\n{content}<|im_end|>\n"
