"""Rows of conversations: what the assistant says counts in the loss, and what comes before it is given.

Each answer is a row of its own behind the whole conversation up to it, written as the template writes it when the
model is asked: so a template may drop what earlier turns thought, and needs no mark of what the assistant says.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from trimtab.data.chat_template import Refused, render_chat
from trimtab.data.fast_tokenizer import FastTokenizer
from trimtab.data.formats.chat import ASSISTANT, Message
from trimtab.data.id_filter import REFUSED, TOO_LONG
from trimtab.data.text_rows import Row
from trimtab.data.transforms.apply import EMPTY_TARGET
from trimtab.errors import input_error


@dataclass(frozen=True, slots=True)
class ChatRows:
    """Turns messages into rows; may be pickled."""

    tokenizer: FastTokenizer
    max_tokens: int
    """Longest row."""

    @classmethod
    def of(cls, tokenizer: object, *, max_tokens: int) -> "ChatRows":
        """Raises InputError where the tokenizer has no chat template."""
        if not isinstance(tokenizer, FastTokenizer) or not tokenizer.template:
            raise input_error(
                "learn: answers needs a tokenizer with a chat template, and this one has none",
                got="no chat template"
                if isinstance(tokenizer, FastTokenizer)
                else "a tokenizer that is trained here",
                allowed="the tokenizer of a pretrained chat model",
                fix="begin from the instruction-tuned variant of the model, or put a chat_template.jinja beside its "
                "tokenizer.json",
            )
        return cls(tokenizer, max_tokens)

    def rows(self, messages: Sequence[Message]) -> list[Row] | str:
        """A row for each answer that fits, or why there is none."""
        found: list[Row] = []
        reason = EMPTY_TARGET
        for number, message in enumerate(messages):
            if message.role != ASSISTANT or not message.content.strip():
                continue
            try:
                row = self.answer(messages, number)
            except Refused:
                reason = REFUSED
                continue
            if len(row.ids) > self.max_tokens:
                reason = TOO_LONG
            elif len(row.ids) > row.prompt:
                found.append(row)
        return found or reason

    def answer(self, messages: Sequence[Message], number: int) -> Row:
        """The row of one message of the assistant: its ids count, with the symbol that ends it. Raises Refused."""
        before, after = self.split(messages, number)
        if not after.strip():
            raise Refused("the template does not write the answer")
        # Apart, as the model will read the one and write the other.
        given, said = self.tokenizer.encode_chat(before), self.tokenizer.encode_chat(after)
        if given[:1] == [self.tokenizer.start]:
            given = given[1:]  # packs begin every row with it
        ends = [place for place, id in enumerate(said) if id in self.tokenizer.special_ids]
        said = said[: ends[-1] + 1] if ends else [*said, self.tokenizer.end]
        return Row([*given, *said], len(given))

    def split(self, messages: Sequence[Message], number: int) -> tuple[str, str]:
        """The text up to an answer, and the answer with what the template puts behind it. Raises Refused, also for a
        template that writes what came before an answer otherwise when the answer is there."""
        prompt = self._rendered(messages[:number], answer=True)
        whole = self._rendered(messages[: number + 1], answer=False)
        if whole.startswith(prompt):
            return prompt, whole[len(prompt) :]
        # Some prompt for more than an answer has, as for thoughts; the answer begins where both part.
        common = _common(prompt, whole)
        if not common.startswith(self._rendered(messages[:number], answer=False)):
            raise Refused("what comes before an answer is written otherwise with it")
        return common, whole[len(common) :]

    def _rendered(self, messages: Sequence[Message], *, answer: bool) -> str:
        own = self.tokenizer
        symbols = own.piece(own.start), own.piece(own.end)
        return render_chat(own.template, messages, symbols=symbols, answer=answer)

    def marked(self, row: Row) -> str:
        """A row as text behind the start symbol, with what counts between `[[` and `]]`."""
        given, said = (
            self.tokenizer.decode_with_symbols(part)
            for part in (row.ids[: row.prompt], row.ids[row.prompt :])
        )
        return f"{self.tokenizer.piece(self.tokenizer.start)}{given}[[{said}]]"


def _common(one: str, other: str) -> str:
    """What both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return one[: next((place for place, (left, right) in pairs if left != right), min(len(one), len(other)))]
