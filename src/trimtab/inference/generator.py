"""A language model ready to continue prompts: many at once, or one as a stream."""

from collections.abc import Generator as Yields
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import torch

from trimtab.decode.batches import batches_by_tokens
from trimtab.decode.continuation import Continuation, Stop, repeated_share
from trimtab.decode.continuing import Continues, SampledRows, Written, continuations
from trimtab.decode.generation_config import GenerationConfig
from trimtab.decode.given_texts import checked_texts
from trimtab.decode.hypothesis import Symbols
from trimtab.decode.incremental_detokenizer import IncrementalDetokenizer
from trimtab.decode.sample import Draw, uniform_numbers
from trimtab.decode.stop_strings import UntilStop, first_stop
from trimtab.errors import InputError, input_error
from trimtab.types import Tokenizer

PROMPTS_AT_ONCE = 256
"""Prompts read ahead and sorted together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Generator:
    """A language model with its tokenizer."""

    name: str
    """What messages call it."""
    model: Continues
    tokenizer: Tokenizer
    device: torch.device
    window: int
    """Most tokens that the model can read, the start symbol included."""
    batch_tokens: int = 8192
    """Tokens of the texts that are written together, padding included."""

    def __repr__(self) -> str:
        return f"Generator({self.name!r}, window {self.window} tokens, {self.device})"

    def generate(
        self, prompts: Iterable[str], generation: GenerationConfig | None = None, *, first: int = 0
    ) -> Iterator[Continuation]:
        """The texts that continue from each prompt, in order, `writing.samples` for each; in bounded memory.

        What is drawn for a prompt follows from the seed, its number (that of the first is `first`) and the number of
        the sample, whatever stands around it. Raises InputError for prompts that are one text and no list, and for a
        prompt that is longer than the model's window, after those before it.
        """
        prompts = checked_texts(prompts, name="prompts")
        return self._written(prompts, generation or GenerationConfig(), first=first)

    def check(self, prompts: Iterable[str]) -> None:
        """InputError for the first prompt that is longer than the model's window; in bounded memory."""
        prompts = checked_texts(prompts, name="prompts")
        for _ in self._read_all(prompts, first=0):
            pass

    def stream(
        self, prompt: str, generation: GenerationConfig | None = None, *, line: int = 0
    ) -> Yields[str, None, Continuation]:
        """One text part by part, each as soon as it is certain; the generator returns the whole as a `Continuation`.

        It is the first sample that `generate` gives for prompt number `line`, counted from 0. Raises InputError at once
        for a prompt that is longer than the model's window.
        """
        rows, failure = self._read([prompt], first=line)
        if failure is not None:
            raise failure
        return self._parts(rows[0], generation or GenerationConfig())

    def whole(self, prompt: str) -> str:
        """The prompt as the tokenizer writes it, which `Continuation.whole` begins with."""
        return self.tokenizer.decode([self.tokenizer.encode([prompt])[0][:-1]])[0]

    def _written(
        self, prompts: Iterable[str], generation: GenerationConfig, *, first: int
    ) -> Iterator[Continuation]:
        for rows in self._read_all(prompts, first=first):
            yield from self._block(rows, generation)

    def _read_all(self, prompts: Iterable[str], *, first: int) -> Iterator[list["_Row"]]:
        """Rows block by block; those before a prompt that is too long, then the error."""
        source = iter(prompts)
        while block := list(islice(source, PROMPTS_AT_ONCE)):
            rows, failure = self._read(block, first=first)
            yield rows
            if failure is not None:
                raise failure
            first += len(block)

    def _parts(self, row: "_Row", generation: GenerationConfig) -> Yields[str, None, Continuation]:
        growing, text = IncrementalDetokenizer(self.tokenizer, row.ids), _Text()
        until = UntilStop(generation.stop)
        for written in self._continued([row], generation, samples=1):
            for each in written:
                text.add(each)
                if each.id != self.tokenizer.end and (part := until.add(growing.add(each.id))):
                    yield part
            if until.found:
                break
        if rest := until.add(growing.rest()) + until.rest():
            yield rest
        return self._finished(row, 0, text, generation)

    def _block(self, rows: list["_Row"], generation: GenerationConfig) -> Iterator[Continuation]:
        found: dict[int, list[Continuation]] = {}
        lengths = [len(row.ids) + min(generation.max_tokens, self._room(row.ids)) for row in rows]
        for batch in batches_by_tokens(lengths, beam=generation.samples, batch_tokens=self.batch_tokens):
            few = [rows[place] for place in batch]
            texts = [[self._begun(row, generation) for _ in range(generation.samples)] for row in few]
            for written in self._continued(few, generation, samples=generation.samples):
                for each in written:
                    texts[each.row][each.sample].add(each)
                if generation.stop and all(text.is_done for of_row in texts for text in of_row):
                    break
            for place, row, of_row in zip(batch, few, texts, strict=True):
                found[place] = [
                    self._finished(row, sample, text, generation) for sample, text in enumerate(of_row)
                ]
        for place in range(len(rows)):
            yield from found[place]

    def _begun(self, row: "_Row", generation: GenerationConfig) -> "_Text":
        """A text in which nothing is written yet; it looks for stop strings where there are any."""
        if not generation.stop:
            return _Text()
        growing = IncrementalDetokenizer(self.tokenizer, row.ids)
        return _Text(growing=growing, until=UntilStop(generation.stop), end=self.tokenizer.end)

    def _continued(
        self, rows: list["_Row"], generation: GenerationConfig, *, samples: int
    ) -> Iterator[list[Written]]:
        limits = [min(generation.max_tokens, self._room(row.ids)) for row in rows]
        sampled, sampling = None, generation.sampling
        if sampling is not None:
            draws = [Draw(row.number) for row in rows]
            uniforms = uniform_numbers(draws, seed=sampling.seed, samples=samples, length=max(limits))
            sampled = SampledRows(sampling, uniforms.to(self.device))
        return continuations(
            self.model,
            [row.ids for row in rows],
            limits=limits,
            symbols=Symbols.of(self.tokenizer),
            sampled=sampled,
            device=self.device,
        )

    def _read(self, prompts: Sequence[str], *, first: int) -> tuple[list["_Row"], InputError | None]:
        """The rows up to the first prompt that is too long, and the error for that one."""
        rows: list[_Row] = []
        for number, ids in enumerate(self.tokenizer.encode(prompts)):
            row = _Row(first + number, prompts[number], [self.tokenizer.start, *ids[:-1]])
            if self._room(row.ids) < 1:
                return rows, self._too_long(row)
            rows.append(row)
        return rows, None

    def _room(self, ids: Sequence[int]) -> int:
        """How many tokens can follow; the last one is written and not read any more."""
        return self.window - len(ids) + 1

    def _finished(
        self, row: "_Row", sample: int, text: "_Text", generation: GenerationConfig
    ) -> Continuation:
        ended = bool(text.ids) and text.ids[-1] == self.tokenizer.end
        stopped: Stop = "max_tokens" if len(text.ids) == generation.max_tokens else "window"
        ids = text.ids[:-1] if ended else text.ids
        growing = IncrementalDetokenizer(self.tokenizer, row.ids)
        growing.ids += ids
        rest, whole = growing.rest(), growing.text()
        if (place := first_stop(rest, generation.stop)) is not None:
            rest, whole, stopped, ended = rest[:place], whole[: len(whole) - len(rest) + place], "stop", False
        return Continuation(
            line=row.number + 1,
            sample=sample + 1,
            prompt=row.prompt,
            text=rest,
            num_tokens=len(text.ids),
            stopped="end" if ended else stopped,
            log_probability=sum(text.log_probabilities),
            repeated=repeated_share(ids),
            whole=whole,
        )

    def _too_long(self, row: "_Row") -> InputError:
        return input_error(
            f"prompt {row.number + 1}: longer than {self.name} can read",
            got=f"{len(row.ids)} tokens, the start symbol included",
            allowed=f"at most {self.window}, which is `data.max_tokens` of the run",
            fix="shorten the prompt: keep its end",
        )


@dataclass(frozen=True, slots=True)
class _Row:
    """A prompt with its number in the input, from 0, and its ids, the start symbol first."""

    number: int
    prompt: str
    ids: list[int]


@dataclass(slots=True)
class _Text:
    """What was written so far."""

    ids: list[int] = field(default_factory=list[int])
    log_probabilities: list[float] = field(default_factory=list[float])

    growing: IncrementalDetokenizer | None = None
    until: UntilStop | None = None
    """What looks for stop strings; None where there are none."""
    end: int = -1
    is_done: bool = False
    """Whether a stop string or the end symbol has come; known where stop strings are looked for."""

    def add(self, written: Written) -> None:
        """One symbol more, unless the text has come to a stop string before it."""
        if self.is_done:
            return
        self.ids.append(written.id)
        self.log_probabilities.append(written.log_probability)
        if self.growing is not None and self.until is not None:
            if written.id != self.end:
                self.until.add(self.growing.add(written.id))
            self.is_done = self.until.found or written.id == self.end
