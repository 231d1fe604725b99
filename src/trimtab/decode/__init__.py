"""From source text to target text, with whatever model can open a decoding session."""

from trimtab.decode.beam import beam_search
from trimtab.decode.greedy import greedy
from trimtab.decode.hypothesis import Hypothesis, Symbols
from trimtab.decode.lines import translate_lines
from trimtab.decode.reading import read_lines
from trimtab.decode.rows import translate_rows
from trimtab.decode.search import Search
from trimtab.decode.setup import TranslationCounts, TranslationSetup
from trimtab.decode.stream import stream_of

__all__ = [
    "Hypothesis",
    "Search",
    "Symbols",
    "TranslationCounts",
    "TranslationSetup",
    "beam_search",
    "greedy",
    "read_lines",
    "stream_of",
    "translate_lines",
    "translate_rows",
]
