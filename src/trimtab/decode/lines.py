"""Lines in, translations out, one for one and in order, however many lines there are."""

from collections.abc import Iterable, Iterator

from trimtab.decode.block import translate_block
from trimtab.decode.setup import TranslationCounts, TranslationSetup

BLOCK_LINES = 4096
"""Lines read ahead and sorted together; more of them fill the batches better and delay the first output."""
BLOCK_CHARACTERS = 4_000_000
"""A block closes on these too, so that a file of very long lines needs no more memory than another."""


def translate_lines(
    lines: Iterable[str],
    setup: TranslationSetup,
    *,
    counts: TranslationCounts | None = None,
    block_lines: int = BLOCK_LINES,
) -> Iterator[str]:
    """One output for each input, in order: empty for a line of white space, and never with a line break in it.

    At most one block is read ahead of what has been given out. Where reading fails, the lines before are translated
    and given out first, then the error is raised.
    """
    for block in _blocks(iter(lines), block_lines=block_lines):
        yield from translate_block(block, setup, counts=counts)


def _blocks(lines: Iterator[str], *, block_lines: int) -> Iterator[list[str]]:
    failure: Exception | None = None
    exhausted = False
    while not exhausted:
        block: list[str] = []
        num_characters = 0
        try:
            while len(block) < block_lines and num_characters < BLOCK_CHARACTERS:
                block.append(next(lines))
                num_characters += len(block[-1])
        except StopIteration:
            exhausted = True
        except Exception as error:  # whatever ends the reading, the lines before it are whole
            failure, exhausted = error, True
        if block:
            yield block
    if failure is not None:
        raise failure
