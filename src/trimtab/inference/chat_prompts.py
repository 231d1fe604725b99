"""Prompts as questions of a chat, written out by the template of the tokenizer."""

from collections.abc import Sequence
from dataclasses import dataclass

from trimtab.data.chat_template import Refused, render_chat
from trimtab.data.fast_tokenizer import FastTokenizer
from trimtab.data.formats.chat import USER, Message
from trimtab.data.same_vocabulary import SameVocabulary
from trimtab.errors import input_error


@dataclass(frozen=True, slots=True)
class ChatPrompts(SameVocabulary):
    """A tokenizer to which each text is what a user says; see `types.Tokenizer`."""

    inner: FastTokenizer

    @classmethod
    def of(cls, tokenizer: object, *, name: str) -> "ChatPrompts":
        """Raises InputError where the tokenizer of the model has no chat template."""
        if not isinstance(tokenizer, FastTokenizer) or not tokenizer.template:
            raise input_error(
                f"--chat: {name} has no chat template",
                got="a tokenizer without one",
                allowed="a pretrained chat model, or a run that began with one",
                fix="leave --chat out, and write the prompt as the model has learned it",
            )
        return cls(tokenizer)

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Ids of each question up to where the answer begins, and the end symbol; InputError where the template refuses
        one."""
        own = self.inner
        symbols = own.piece(own.start), own.piece(own.end)
        rows: list[list[int]] = []
        for line in lines:
            try:
                text = render_chat(own.template, [Message(USER, line)], symbols=symbols, answer=True)
            except Refused as error:
                raise input_error(
                    f"--chat: the chat template refuses {line[:40]!r}", got=str(error)
                ) from None
            ids = own.encode_chat(text)
            rows.append([*(ids[1:] if ids[:1] == [own.start] else ids), own.end])
        return rows

    def decode(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """Text of each row of ids as it is, without symbols."""
        return self.inner.decode_exactly(rows)
