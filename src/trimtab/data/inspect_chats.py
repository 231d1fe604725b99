"""Inspects conversations as training will see them: answers and tokens that count, what is dropped, and an example."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from trimtab.data.chat_rows import ChatRows
from trimtab.data.corpus import Corpus
from trimtab.data.id_filter import NO_TOOLS, REFUSED
from trimtab.units import counted

MOST_CHARACTERS = 2000
"""Of the example."""


@dataclass(frozen=True, slots=True)
class ChatReport:
    """One corpus of conversations; counts are of the inspected ones."""

    name: str
    conversations: int
    inspected: int
    answers: int
    """Rows, one for each answer that is learned."""
    counted: int
    """Tokens that count in the loss."""
    given: int
    """Tokens that are read and do not count."""
    dropped: dict[str, int]
    """Answers that are not learned, and conversations without one, by reason, most frequent first."""
    such_as: dict[str, str]
    """For each reason the first line that it happened to, as `FILE:LINE`, with what the template says."""
    example: str
    """The first row as text, symbols included, with what counts between `[[` and `]]`; empty if there is none."""


def inspect_chats(corpora: Sequence[Corpus], chats: ChatRows, *, limit: int) -> tuple[ChatReport, ...]:
    """Reads at most `limit` conversations of each corpus, evenly spread."""
    return tuple(_inspected(corpus, chats, limit=limit) for corpus in corpora)


def _inspected(corpus: Corpus, chats: ChatRows, *, limit: int) -> ChatReport:
    read = min(limit, len(corpus))
    lines = [number * len(corpus) // read for number in range(read)]
    dropped, example = Counter[str](), ""
    such_as: dict[str, str] = {}
    answers = counted = given = 0
    for line in lines:
        rows, gone, said = chats.rows(*corpus.conversation(line))
        dropped.update(gone)
        for reason in gone:
            told = f": {said}" if said and reason in (NO_TOOLS, REFUSED) else ""
            such_as.setdefault(reason, f"{corpus.place(line)}{told}")
        example = example or (chats.marked(rows[0]) if rows else "")
        answers += len(rows)
        given += sum(row.prompt for row in rows)
        counted += sum(len(row.ids) - row.prompt for row in rows)
    return ChatReport(
        corpus.name, len(corpus), read, answers, counted, given, dict(dropped.most_common()), such_as, example
    )


def render_chats(reports: Sequence[ChatReport]) -> str:
    """The reports as plain text, one paragraph a corpus."""
    return "\n\n".join(_paragraph(report) for report in reports)


def _paragraph(report: ChatReport) -> str:
    of = "" if report.inspected == report.conversations else f", {report.inspected:,} inspected"
    tokens = report.counted + report.given
    lines = [
        f"{report.name}: {counted(report.conversations, 'conversation')}{of}, {counted(report.answers, 'answer')}",
        f"  {report.counted:,} of {tokens:,} tokens count in the loss ({report.counted / max(1, tokens):.1%})",
        *(
            f"  dropped, {reason}: {count:,}, such as {report.such_as[reason]}"
            for reason, count in report.dropped.items()
        ),
    ]
    if report.example:
        cut = report.example[:MOST_CHARACTERS]
        lines += [
            "  an example; what counts is between [[ and ]]:",
            *(f"    {line}" for line in cut.splitlines()),
        ]
    return "\n".join(lines)
