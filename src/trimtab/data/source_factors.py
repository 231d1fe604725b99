"""Source factors as text: values written behind words as Marian writes them, `word|value`, and the case of a word."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

from trimtab.errors import InputError, input_error

SEPARATOR = "|"
"""Between a word and its values. Each word of a line has equally many of them, so that a word itself may contain it."""
Case = Literal["none", "lower", "title", "upper", "mixed"]
SHOWN = 60
"""Characters of a line or a word that a message quotes."""


def with_factors(source: str, columns: Sequence[str]) -> str | None:
    """The line with the values behind its words, one column a factor; None where one has more or fewer values than
    there are words."""
    words, values = source.split(), [column.split() for column in columns]
    if any(len(each) != len(words) for each in values):
        return None
    return " ".join(SEPARATOR.join(parts) for parts in zip(words, *values, strict=True))


def without_factors(line: str, count: int) -> str:
    """The words of a line alone; the line itself where no factors are written behind words."""
    return line if count == 0 else " ".join(word for word, *_ in split_words(line, count))


def text_of_words(line: str, *, count: int, lowercase: bool) -> str:
    """What is split into pieces of a line with factors: its words, in lower case where that is a factor."""
    words = (word for word, *_ in split_words(line, count))
    return " ".join(map(in_lower_case, words) if lowercase else words)


def split_words(line: str, count: int, *, place: tuple[str, int] | None = None) -> list[list[str]]:
    """The words of a line, each followed by its `count` values; InputError for a word that has fewer, with the file and
    the number of the line, from 1, where the `place` is known."""
    found = [word.rsplit(SEPARATOR, count) for word in line.split()]
    for parts in found:
        if len(parts) <= count or not parts[0]:
            raise _no_value(line, SEPARATOR.join(parts), count, place=place)
    return found


def checked_values(lines: Iterable[str], count: int, *, name: str) -> Iterator[str]:
    """The same lines, each looked at when its turn comes; InputError, with `name` and the number of the line, from 1,
    for a word without its `count` values."""
    for number, line in enumerate(lines, start=1):
        split_words(line, count, place=(name, number))
        yield line


def rewritten(line: str, count: int, change: Callable[[str], str]) -> str:
    """The line with each word rewritten by itself. What a word becomes has its values: nothing, or several words."""
    parts = [
        SEPARATOR.join([each, *values])
        for word, *values in split_words(line, count)
        for each in change(word).split()
    ]
    return " ".join(parts)


def normalised_words(text: str, *, change: Callable[[str], str], count: int) -> str:
    """What a change of lines with factors makes of a text that has none."""
    filled = " ".join(SEPARATOR.join([word, *["-"] * count]) for word in text.split())
    return without_factors(change(filled), count)


def case_of(word: str) -> Case:
    """How a word is capitalised, by the letters that have a case. One capital alone, such as `I`, is title case."""
    cased = [letter for letter in word if letter.isupper() or letter.islower() or letter.istitle()]
    if not cased:
        return "none"
    small = [letter.islower() for letter in cased]
    if all(small):
        return "lower"
    if not small[0] and all(small[1:]):
        return "title"
    return "mixed" if any(small) else "upper"


def in_lower_case(word: str) -> str:
    """The word in lower case where its case factor says what it was: not for mixed case."""
    return word if case_of(word) == "mixed" else word.lower()


def misaligned(
    source: str, columns: Sequence[str], *, files: Sequence[str], line: int, place: str
) -> InputError:
    """The error for a line, counted from 1, whose factors do not fit its words."""
    words = len(source.split())
    path, found = next(
        (file, len(column.split()))
        for file, column in zip(files, columns, strict=True)
        if len(column.split()) != words
    )
    return input_error(
        f"{path}: line {line} has {found} value{'s' * (found != 1)} for {words} source word{'s' * (words != 1)}",
        got=f"{found} value{'s' * (found != 1)} for the {words} word{'s' * (words != 1)} of {place}",
        allowed="one value for each word that white space separates",
        fix="regenerate the factors from this text: tag it as it is split by spaces, or train on the tagger's tokens",
        where=f"{path}:{line}",
    )


def _no_value(line: str, word: str, count: int, *, place: tuple[str, int] | None) -> InputError:
    lacks = "no value of the source factor" if count == 1 else f"no values of the {count} source factors"
    return input_error(
        f"a word has {lacks}" if place is None else f"{place[0]}: line {place[1]} has a word with {lacks}",
        got=f"{word[:SHOWN]!r} in {line[:SHOWN]!r}",
        allowed=f"`{SEPARATOR.join(['word', *(f'value{n}' for n in range(1, count + 1))])}` for each word",
        fix="append the values to each word, or name files that are aligned with the text: `--factors NAME=FILE`",
        where="" if place is None else f"{place[0]}:{place[1]}",
    )
