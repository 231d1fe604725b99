"""Lines in, translations out, one for one and in order, however many lines there are."""

from collections.abc import Iterable, Iterator
from itertools import islice

from trimtab.decode.block import n_best_block
from trimtab.decode.candidate import Candidate
from trimtab.decode.given_prefix import Prefix
from trimtab.decode.setup import TranslationCounts, TranslationSetup
from trimtab.errors import InputError, input_error

BLOCK_LINES = 4096
"""Lines read ahead and sorted together; more of them fill the batches better and delay the first output."""
BLOCK_CHARACTERS = 4_000_000
"""A block closes on these too, so that a file of very long lines needs no more memory than another."""


def translate_lines(
    lines: Iterable[str],
    setup: TranslationSetup,
    *,
    prefixes: Iterable[Prefix | None] | str | None = None,
    counts: TranslationCounts | None = None,
    block_lines: int = BLOCK_LINES,
) -> Iterator[str]:
    """One output for each input, in order: empty for a line of white space, and never with a line break in it.

    At most one block is read ahead of what has been given out. Where reading fails, the lines before are translated
    and given out first, then the error is raised. `prefixes` as for `n_best_lines`.
    """
    for few in n_best_lines(lines, setup, n=1, prefixes=prefixes, counts=counts, block_lines=block_lines):
        yield few[0].text


def n_best_lines(
    lines: Iterable[str],
    setup: TranslationSetup,
    *,
    n: int,
    prefixes: Iterable[Prefix | None] | str | None = None,
    counts: TranslationCounts | None = None,
    block_lines: int = BLOCK_LINES,
) -> Iterator[list[Candidate]]:
    """At most `n` translations for each line, in order, at least one; see `n_best_block`.

    `prefixes` are what translations must begin with: one for each line (None if nothing is forced), or one text for
    all of them. Raises InputError if there are fewer or more of them than lines.
    """
    given = None if prefixes is None or isinstance(prefixes, str) else iter(prefixes)
    first_line = 0
    for block in _blocks(iter(lines), block_lines=block_lines):
        of_block = [prefixes] * len(block) if isinstance(prefixes, str) else None
        if given is not None:
            of_block = list(islice(given, len(block)))
            if len(of_block) < len(block):
                raise _unequal(f"no prefix for line {first_line + len(of_block) + 1}")
        yield from n_best_block(block, setup, n=n, prefixes=of_block, first_line=first_line, counts=counts)
        first_line += len(block)
    if given is not None and list(islice(given, 1)):
        raise _unequal(f"more prefixes than the {first_line} lines")


def _unequal(got: str) -> InputError:
    return input_error(
        "prefixes: not as many as lines",
        got=got,
        allowed="one prefix for each line; an empty one requires nothing",
        fix="check that both come from the same set and that neither was filtered alone",
    )


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
