"""A language model ready to continue prompts: many at once, or one as a stream."""

from collections.abc import Generator as Yields
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
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
from trimtab.inference.sizes import checked_batch_tokens, checked_max_length
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
    sha256: str | None = None
    """Of the file of its weights, where it is known: an adapter may say another."""

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

    def sized(self, *, batch_tokens: int | None = None, max_length: int | None = None) -> "Generator":
        """The same with other batches, or with a shorter window. InputError for a window that is longer than what the
        model was trained with."""
        return replace(
            self,
            batch_tokens=checked_batch_tokens(batch_tokens, usual=self.batch_tokens),
            window=checked_max_length(max_length, most=self.window, name=self.name),
        )

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
        rows, failure = self.read([prompt], first=line)
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

    def _read_all(self, prompts: Iterable[str], *, first: int) -> Iterator[list["PromptRow"]]:
        """Rows block by block; those before a prompt that is too long, then the error."""
        source = iter(prompts)
        while block := list(islice(source, PROMPTS_AT_ONCE)):
            rows, failure = self.read(block, first=first)
            yield rows
            if failure is not None:
                raise failure
            first += len(block)

    def _parts(self, row: "PromptRow", generation: GenerationConfig) -> Yields[str, None, Continuation]:
        text = self.begun(row, generation, streams=True)
        for written in self._continued([row], generation, samples=1):
            for each in written:
                if part := text.add(each):
                    yield part
            if text.is_done:
                break
        if rest := text.rest():
            yield rest
        return self.finished(row, 0, text, generation)

    def _block(self, rows: list["PromptRow"], generation: GenerationConfig) -> Iterator[Continuation]:
        found: dict[int, list[Continuation]] = {}
        lengths = [len(row.ids) + min(generation.max_tokens, self.room(row.ids)) for row in rows]
        for batch in batches_by_tokens(lengths, beam=generation.samples, batch_tokens=self.batch_tokens):
            few = [rows[place] for place in batch]
            texts = [[self.begun(row, generation) for _ in range(generation.samples)] for row in few]
            for written in self._continued(few, generation, samples=generation.samples):
                for each in written:
                    texts[each.row][each.sample].add(each)
                if generation.stop and all(text.is_done for of_row in texts for text in of_row):
                    break
            for place, row, of_row in zip(batch, few, texts, strict=True):
                found[place] = [
                    self.finished(row, sample, text, generation) for sample, text in enumerate(of_row)
                ]
        for place in range(len(rows)):
            yield from found[place]

    def begun(self, row: "PromptRow", generation: GenerationConfig, *, streams: bool = False) -> "TextSoFar":
        """A text in which nothing is written yet; it looks for stop strings where there are any, and gives its parts
        where it `streams`."""
        if not generation.stop and not streams:
            return TextSoFar()
        growing = IncrementalDetokenizer(self.tokenizer, row.ids)
        return TextSoFar(growing=growing, until=UntilStop(generation.stop), end=self.tokenizer.end)

    def _continued(
        self, rows: list["PromptRow"], generation: GenerationConfig, *, samples: int
    ) -> Iterator[list[Written]]:
        limits = [min(generation.max_tokens, self.room(row.ids)) for row in rows]
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

    def read(self, prompts: Sequence[str], *, first: int = 0) -> tuple[list["PromptRow"], InputError | None]:
        """The rows up to the first prompt that is too long, and the error for that one."""
        rows: list[PromptRow] = []
        for number, ids in enumerate(self.tokenizer.encode(prompts)):
            row = PromptRow(first + number, prompts[number], [self.tokenizer.start, *ids[:-1]])
            if self.room(row.ids) < 1:
                return rows, self._too_long(row)
            rows.append(row)
        return rows, None

    def room(self, ids: Sequence[int]) -> int:
        """How many tokens can follow; the last one is written and not read any more."""
        return self.window - len(ids) + 1

    def finished(
        self, row: "PromptRow", sample: int, text: "TextSoFar", generation: GenerationConfig
    ) -> Continuation:
        """The whole of a text that has ended, up to the first stop string in it."""
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

    def _too_long(self, row: "PromptRow") -> InputError:
        return input_error(
            f"prompt {row.number + 1}: longer than {self.name} can read",
            got=f"{len(row.ids)} tokens, the start symbol included",
            allowed=f"at most {self.window}, which is `data.max_tokens` of the run",
            fix="shorten the prompt: keep its end",
        )


@dataclass(frozen=True, slots=True)
class PromptRow:
    """A prompt with its number in the input, from 0, and its ids, the start symbol first."""

    number: int
    prompt: str
    ids: list[int]


@dataclass(slots=True)
class TextSoFar:
    """What was written so far."""

    ids: list[int] = field(default_factory=list[int])
    log_probabilities: list[float] = field(default_factory=list[float])

    growing: IncrementalDetokenizer | None = None
    until: UntilStop | None = None
    """What looks for stop strings; None where there are none."""
    end: int = -1
    is_done: bool = False
    """Whether a stop string or the end symbol has come; known where stop strings are looked for."""

    def add(self, written: Written) -> str:
        """One symbol more, unless the text has come to a stop string before it; gives what of the text is new and
        certain, where it is looked at."""
        if self.is_done:
            return ""
        self.ids.append(written.id)
        self.log_probabilities.append(written.log_probability)
        part = ""
        if self.growing is not None and self.until is not None:
            if written.id != self.end:
                part = self.until.add(self.growing.add(written.id))
            self.is_done = self.until.found or written.id == self.end
        return part

    def rest(self) -> str:
        """What was held back, at the end of the text."""
        if self.growing is None or self.until is None:
            return ""
        return self.until.add(self.growing.rest()) + self.until.rest()
