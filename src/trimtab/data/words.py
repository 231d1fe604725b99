"""Which word of a text each token belongs to: words are what white space separates."""

import numpy as np
from jaxtyping import Bool, Int

from trimtab.data.sentencepiece_model import SentencePiece

SPACE = "▁"
"""How a vocabulary spells a space."""


def begins_word(tokenizer: SentencePiece) -> Bool[np.ndarray, "ids"]:
    """For each id, whether it begins a word: its piece begins with a space."""
    return np.array([tokenizer.piece(id).startswith(SPACE) for id in range(tokenizer.num_ids)])


def words_of(
    ids: Int[np.ndarray, "tokens"], begins: Bool[np.ndarray, "ids"], *, num_tags: int = 0
) -> Int[np.ndarray, "tokens"]:
    """The number of the word that each token of a row belongs to, from 0; -1 for tags and for the end symbol.

    The count goes by the spaces in the pieces. It is that of the text only where the tokenizer neither makes nor loses
    spaces: compare `num_words` with the text.
    """
    words = begins[ids % len(begins)].cumsum() - 1  # an id may have source factors in it
    words[:num_tags] = -1
    words[-1:] = -1
    return words


def num_words(words: Int[np.ndarray, "tokens"]) -> int:
    """How many words `words_of` has counted."""
    return int(words.max(initial=-1)) + 1
