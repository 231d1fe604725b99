"""A decoder-only model as a translator: each source is a prompt that the translation continues."""

from itertools import pairwise

import torch
from jaxtyping import Float, Int
from torch import Tensor

from trimtab.model.decoder_only import DecoderOnly
from trimtab.model.decoder_session import PromptSession
from trimtab.model.module.x_session import UncachedPrompts
from trimtab.model.module.x_transformers import XDecoder
from trimtab.types import Stream


class SourcePrompts:
    """See `types.Translates`. A row is read as it was in training: start symbol, source, separator, translation."""

    def __init__(self, model: DecoderOnly | XDecoder, *, start: int, separator: int) -> None:
        self.model, self.start, self.separator = model, start, separator

    def open_session(
        self, source: Stream, *, rows: int, width: int, max_length: int
    ) -> "PromptedTranslation":
        """Reads the sources, of which each ends with its end symbol; a translation may grow to `max_length` tokens."""
        ends = source.cu_seqlens[: rows + 1].tolist()
        lengths = [stop - start for start, stop in pairwise(ends)]
        longest = max(lengths)
        assert longest + max_length <= self.model.max_positions, (
            longest,
            max_length,
            self.model.max_positions,
        )
        tokens = torch.full((rows, longest), self.start, device=source.ids.device)
        for row, (start, length) in enumerate(zip(ends[:-1], lengths, strict=True)):
            # The start symbol comes before the source; the separator, which is fed first, takes the place of the end
            # symbol.
            tokens[row, longest - length + 1 :] = source.ids[start : start + length - 1]
        if isinstance(self.model, XDecoder):
            session = self.model.open_prompts(rows=rows, width=width)
        else:
            session = PromptSession(self.model, rows=rows, width=width)
        session.feed(tokens, longest - torch.tensor(lengths, device=tokens.device))
        return PromptedTranslation(session, self.separator)


class PromptedTranslation:
    """See `types.DecoderSession`. What a search feeds first, the start symbol, is the separator to the model."""

    def __init__(self, session: PromptSession | UncachedPrompts, separator: int) -> None:
        self.session, self.separator, self.started = session, separator, False

    def step(self, tokens: Int[Tensor, "rows width"]) -> Float[Tensor, "rows width vocabulary"]:
        """Feeds one token to each hypothesis and gives the float32 logits of the next one."""
        if not self.started:
            tokens, self.started = torch.full_like(tokens, self.separator), True
        return self.session.step(tokens)

    def cut_output(self, ids: Int[Tensor, "short"]) -> None:
        """From now on, `step` gives the logits of these ids alone, in this order."""
        self.session.cut_output(ids)

    def reorder(self, parents: Int[Tensor, "rows width"]) -> None:
        """Hypothesis j of row i continues hypothesis `parents[i, j]` of the same row."""
        self.session.reorder(parents)

    def keep(self, rows: Int[Tensor, "kept"]) -> None:
        """Continues with these rows only, in this order."""
        self.session.keep(rows)
