"""Rows of conversations: what the assistant says counts in the loss, and what comes before it is given.

Each answer is a row of its own behind the whole conversation up to it, written as the template writes it when the
model is asked: so a template may drop what earlier turns thought, and needs no mark of what the assistant says.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from trimtab.data.chat_template import Refused, render_chat
from trimtab.data.fast_tokenizer import FastTokenizer
from trimtab.data.formats.chat import ASSISTANT, CALLS, KNOWN_ROLES, TOOLS, Message
from trimtab.data.id_filter import NO_TOOLS, NOT_LEARNED, REFUSED, TOO_LONG
from trimtab.data.text_rows import LineRows, Row
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

    def rows(self, messages: Sequence[Message], tools: Sequence[Any] = ()) -> LineRows:
        """A row for each answer that is learned and fits, and the reasons why others are dropped; a conversation of
        which no answer is to be learned has one."""
        found: list[Row] = []
        dropped: list[str] = []
        said = ""
        answers = [number for number, each in enumerate(messages) if each.role == ASSISTANT]
        learned = [number for number in answers if messages[number].counts]
        unwritten = [*self._unwritten(messages[: learned[-1] + 1], tools)] if learned else []
        for number in learned:
            if not messages[number].content.strip() and not messages[number].calls:
                dropped.append(EMPTY_TARGET)
                continue
            if lacking := [each for each in unwritten if each[0] <= number]:
                _, reason, what = lacking[0]
                dropped.append(reason)
                said = said or f"the template does not write {what}"
                continue
            try:
                row = self.answer(messages, number, tools)
            except Refused as error:
                dropped.append(REFUSED)
                said = said or str(error)
                continue
            if len(row.ids) > self.max_tokens:
                dropped.append(TOO_LONG)
            else:
                found.append(row)
        if not learned:
            dropped.append(NOT_LEARNED if answers else EMPTY_TARGET)
        return LineRows(found, dropped, said)

    def answer(self, messages: Sequence[Message], number: int, tools: Sequence[Any] = ()) -> Row:
        """The row of one message of the assistant: its ids count, with the symbol that ends it. Raises Refused."""
        before, after = self.split(messages, number, tools)
        if not after.strip():
            raise Refused("the template does not write the answer")
        # Apart, as the model will read the one and write the other.
        given, said = self.tokenizer.encode_chat(before), self.tokenizer.encode_chat(after)
        if given[:1] == [self.tokenizer.start]:
            given = given[1:]  # packs begin every row with it
        ends = [place for place, id in enumerate(said) if id in self.tokenizer.special_ids]
        said = said[: ends[-1] + 1] if ends else [*said, self.tokenizer.end]
        return Row([*given, *said], len(given))

    def split(self, messages: Sequence[Message], number: int, tools: Sequence[Any] = ()) -> tuple[str, str]:
        """The text up to an answer, and the answer with what the template puts behind it. Raises Refused, also for a
        template that writes what came before an answer otherwise when the answer is there."""
        prompt = self._rendered(messages[:number], answer=True, tools=tools)
        whole = self._rendered(messages[: number + 1], answer=False, tools=tools)
        if whole.startswith(prompt):
            return prompt, whole[len(prompt) :]
        # Some prompt for more than an answer has, as for thoughts; the answer begins where both part.
        common = _common(prompt, whole)
        if not common.startswith(self._rendered(messages[:number], answer=False, tools=tools)):
            raise Refused("what comes before an answer is written otherwise with it")
        return common, whole[len(common) :]

    def _unwritten(self, messages: Sequence[Message], tools: Sequence[Any]) -> Iterator[tuple[int, str, str]]:
        """What the template does not write, since the text is the same without it: the tools, the calls of a message,
        or an unusual role. The number of the first message that it concerns, the reason to drop answers from there on,
        and what it is."""
        if tools and self._same(messages, messages, tools, ()):
            yield 0, NO_TOOLS, f"`{TOOLS}`"
        unusual = {each.role: number for number, each in reversed([*enumerate(messages)])}
        for role, number in unusual.items():
            if role not in KNOWN_ROLES:
                others = [each._replace(role=f"{role}_") if each.role == role else each for each in messages]
                if self._same(messages, others, tools, tools):
                    yield number, REFUSED, f"the role {role[:40]!r}"
        for number, message in enumerate(messages):
            if message.calls:
                others = {name: each for name, each in (message.fields or {}).items() if name not in CALLS}
                without = [*messages[:number], message._replace(fields=others)]
                if self._same(messages[: number + 1], without, tools, tools):
                    yield number, NO_TOOLS, f"`{message.calls[0]}`"

    def _same(
        self,
        messages: Sequence[Message],
        others: Sequence[Message],
        tools: Sequence[Any],
        other: Sequence[Any],
    ) -> bool:
        """Whether the template writes the same for both, where it refuses neither."""
        try:
            return self._rendered(messages, answer=False, tools=tools) == self._rendered(
                others, answer=False, tools=other
            )
        except Refused:
            return False

    def _rendered(self, messages: Sequence[Message], *, answer: bool, tools: Sequence[Any] = ()) -> str:
        own = self.tokenizer
        symbols = own.piece(own.start), own.piece(own.end)
        return render_chat(own.template, messages, symbols=symbols, answer=answer, tools=tools)

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
