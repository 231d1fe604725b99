"""Checks before the first step that the vector of a text depends on its own tokens and nothing else."""

from collections.abc import Iterator
from dataclasses import replace

from trimtab.finding import Finding
from trimtab.tasks.diagnoses import ALONE, UNSEEN, differs_alone, dropped_examples, not_seen, others_seen
from trimtab.tasks.examples import Checked
from trimtab.tasks.program import hidden, hidden_in_training
from trimtab.tasks.text.data_checks import unknown_pieces
from trimtab.tasks.text.probing import exchanged
from trimtab.tasks.text.symbols import symbols_are_apart, text_comes_back


def data_checks(parts: Checked) -> Iterator[Finding]:
    """What the vocabulary and the first examples show."""
    yield from unknown_pieces(parts)
    yield from dropped_examples(parts, fix="look for lines without a text or without a label in data.train")
    yield from symbols_are_apart(parts)
    yield from text_comes_back(parts)


def texts_are_apart(parts: Checked) -> Iterator[Finding]:
    """With other tokens in every other text, these texts change and the rest of the batch does not."""
    batch = parts.examples.few()
    before = hidden_in_training(parts, batch)[: batch.num_segments]
    every_other = batch.text.segments % 2 == 0
    text = exchanged(batch.text, where=every_other, num_ids=parts.datasets.tokenizer.num_ids)
    change = hidden_in_training(parts, replace(batch, text=text))[: batch.num_segments] - before
    typical = float(before.norm(dim=1).mean())
    own, others = change[0::2], change[1::2]
    leak = float(others.norm(dim=1).max()) / typical if len(others) else 0.0
    yield from others_seen(leak, bound=UNSEEN[parts.precision])
    yield from not_seen("text", float(own.norm(dim=1).min()) / typical)


def text_is_the_same_alone(parts: Checked) -> Iterator[Finding]:
    """The first text in a batch with others and alone, without dropout, which is drawn by a token's place."""
    parts.model.eval()
    together = parts.examples.few()
    alone = parts.examples.one_batch(0, 1)
    one, other = hidden(parts, together)[0], hidden(parts, alone)[0]
    share, bound = float((one - other).norm() / one.norm()), ALONE[parts.precision]
    yield from differs_alone(share, bound=bound, targets=1, others=together.num_segments - 1)
