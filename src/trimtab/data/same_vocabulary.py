"""A tokenizer around another one that reads or writes text in its own way and has the same ids."""

from dataclasses import dataclass

from trimtab.data.stored_tokenizer import AnyTokenizer


@dataclass(frozen=True, slots=True)
class SameVocabulary:
    """The ids of the tokenizer inside; with `encode` and `decode` it is one, see `types.Tokenizer`."""

    inner: AnyTokenizer

    @property
    def num_ids(self) -> int:
        """Size of the vocabulary."""
        return self.inner.num_ids

    @property
    def pad(self) -> int:
        """Id of the padding symbol."""
        return self.inner.pad

    @property
    def unknown(self) -> int:
        """Id of what has no piece; a vocabulary with a piece for each byte has no such text."""
        return self.inner.unknown

    @property
    def start(self) -> int:
        """Id that every text begins behind."""
        return self.inner.start

    @property
    def end(self) -> int:
        """Id that ends a text."""
        return self.inner.end
