"""What is copied rather than translated, as regular expressions: addresses, markup, placeholders, numbers.

Each of them begins where a run of its characters begins and cannot match in two ways, so that a line takes time in
proportion to its length whatever it holds.
"""

import re
from collections.abc import Sequence
from typing import get_args

from trimtab.config.reserved import PROTECTED
from trimtab.config.transforms import ProtectedKind

_BLANK = r"\s\x00-\x1f\x7f-\x9f"
_QUOTES = "<>\"'`«»“”„‘’「」『』【】（）"
_STOPS = r".,;:!?)\]}…，。、；：！？"
_EXPRESSIONS: dict[ProtectedKind, str] = {
    # To the next blank or quote, without the punctuation of the sentence around it.
    "url": rf"(?<![\w])(?:(?:https?|ftps?|file)://|www\.)[^{_BLANK}{_QUOTES}]*[^{_BLANK}{_QUOTES}{_STOPS}]",
    "email": r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})++",
    # Start, end and empty elements with their attributes, and entities.
    "tag": r"</?[A-Za-z][\w:.-]*+(?:[ /][^<>\x00-\x1f\x7f-\x9f\u2028\u2029]*)?>"
    r"|&(?:[#][0-9]{1,7}|[#]x[0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});",
    # {0}, {name}, {{name}}, {0:.2f}, {n, number}; ${name}, $(name); %s, %5.1f, %(name)s, %1$s, %@; %1; %NAME%.
    "placeholder": r"[$]?\{{1,2}[\w.]*(?:[!:,][^{}\x00-\x1f\x7f-\x9f\u2028\u2029]{0,80})?\}{1,2}"
    r"|[$]\([\w.]{1,80}\)"
    r"|(?<![0-9%])%(?:\([\w.]{1,80}\)|[0-9]{1,2}[$])?[-+0#]{0,4}(?:[0-9]{1,4}|\*)?(?:\.(?:[0-9]{1,4}|\*))?"
    r"(?:hh?|ll?|[jztLq])?[diouxXeEfFgGaAcrsp@](?![A-Za-z])"
    r"|(?<![0-9%])%(?:[A-Z][A-Z0-9_]{1,80}%?|[0-9]{1,2}(?![0-9]))",
    # Whole ones only, no dates and no 3-D: 1,000.5 and 2001-03-31 are written otherwise in another language.
    "number": r"(?<![\w.,-])[0-9]++(?![\w%-]|[.,][0-9])",
}


def pattern_of(
    kinds: Sequence[ProtectedKind], expressions: Sequence[str], *, symbols: int
) -> re.Pattern[str]:
    """One expression for all of them, and first of all for text that is spelled like one of the symbols.

    Where several would match at one place the order is: url, email, tag, own expressions, placeholder, number.
    """
    order = [kind for kind in get_args(ProtectedKind) if kind in kinds]
    before = [_EXPRESSIONS[kind] for kind in order if kind in ("url", "email", "tag")]
    after = [_EXPRESSIONS[kind] for kind in order if kind not in ("url", "email", "tag")]
    own = [f"(?:{expression})" for expression in expressions]
    return re.compile("|".join([symbol_pattern(symbols).pattern, *before, *own, *after]))


def symbol_pattern(symbols: int) -> re.Pattern[str]:
    """Matches the spelling of each symbol of the vocabulary."""
    return re.compile("|".join(re.escape(PROTECTED.format(number)) for number in range(symbols)))
