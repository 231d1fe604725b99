"""A model, its tokenizer and how to search, for lines, documents and whole files as a stream."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from trimtab.config.run import Recipe
from trimtab.data.transforms.restore import Restorer
from trimtab.decode.candidate import Candidate, n_best_text
from trimtab.decode.document_context import ALONE, DocumentContext
from trimtab.decode.document_lines import json_documents, json_line, text_documents
from trimtab.decode.documents import DocumentCounts, translate_documents
from trimtab.decode.given_prefix import Prefix
from trimtab.decode.given_texts import checked_documents, checked_texts
from trimtab.decode.lines import n_best_lines, translate_lines
from trimtab.decode.reading import BinaryLines, read_lines
from trimtab.decode.search import Search
from trimtab.decode.setup import TranslationSetup
from trimtab.errors import InputError, input_error
from trimtab.inference.document_streams import gathered, restored_documents
from trimtab.inference.recorded import with_dynamic_shapes
from trimtab.inference.setup import cuts_output, document_context, translation_setup
from trimtab.inference.shortlist_file import read_shortlist
from trimtab.inference.tagged import Tagged
from trimtab.model.kinds import Model

DOCUMENTS_SIDE_BY_SIDE = 64
DocumentForm = Literal["text", "jsonl"]
"""Blocks between empty lines, or a list of sentences a line."""
Prefixes = Iterable[Prefix | None] | str | None
"""What translations must begin with: a text for all lines, or for each line text, ids or None."""


@runtime_checkable
class TextOutput(Protocol):
    """What is needed of a file that was opened to write text."""

    def write(self, text: str, /) -> int:
        """Takes some text."""
        ...

    def flush(self) -> None:
        """Hands on what was taken."""
        ...


@runtime_checkable
class InTraining(Protocol):
    """A run on text in training: what `build` gives."""

    recipe: Recipe
    datasets: Any
    """Its opened data, with tokenizers and transforms."""


@dataclass(slots=True)
class Translator:
    """A model, its tokenizer and how to search; counts what it did."""

    setup: TranslationSetup
    counts: DocumentCounts
    restorer: Restorer | None = None
    """What puts back what the transform `protect` took out of the lines."""
    context: DocumentContext = ALONE
    """The context of a sentence where documents are translated."""

    def __repr__(self) -> str:
        return f"Translator(beam {self.setup.search.beam}, {self.setup.device})"

    @classmethod
    def of(cls, parts: InTraining, model: Model, *, beam: int, tags: tuple[str, ...]) -> "Translator":
        """A translator for a model in training."""
        tokenizer = Tagged(parts.datasets.tokenizers, tags)
        return cls(
            translation_setup(
                model,
                tokenizer,
                parts.datasets.pipeline.apply_source,
                recipe=parts.recipe,
                search=Search(beam=beam),
            ),
            DocumentCounts(),
            parts.datasets.pipeline.restorer(),
            document_context(parts.recipe, parts.datasets.tokenizers, num_tags=len(tags)),
        )

    def with_shortlist(self, path: Path | str) -> "Translator":
        """The same translator, in whose output layer a batch has only the pieces that its source may need, as the file
        that `trimtab.build_shortlist` wrote says: faster on a CPU, and a few translations differ.

        Raises InputError for a file of other vocabularies, for an export, and on a GPU, which it would not make faster.
        """
        setup = self.setup
        if not isinstance(setup.tokenizer, Tagged) or not cuts_output(setup.model):
            raise _no_shortlists("an exported model", fix="translate with the run itself")
        if setup.device.type != "cpu":
            raise _no_shortlists(f"a model on {setup.device.type}", fix="add --device cpu, or leave it out")
        shortlist = read_shortlist(path, tokenizers=setup.tokenizer.inner)
        return replace(self, setup=replace(setup, shortlist=shortlist), counts=DocumentCounts())

    def translate(self, lines: Iterable[str], *, prefixes: Prefixes = None) -> list[str]:
        """One translation for each line; see `stream`."""
        return list(self.stream(lines, prefixes=prefixes))

    def stream(self, lines: Iterable[str], *, prefixes: Prefixes = None) -> Iterator[str]:
        """One translation for each line, in order, in bounded memory.

        `prefixes` are what translations must begin with: one for each line, as text or as ids of the target
        vocabulary (None forces nothing), or one text for all lines. The prefix is the first part of the translation
        that comes out; a line that is cut in pieces has it before the first. Its text is cut into pieces of the
        vocabulary by itself, so it should end where a word ends. Raises InputError for a prefix that cannot be
        forced, and where there are not as many as lines; and for a text alone in place of a list.
        """
        lines = checked_texts(lines, name="lines")
        translate = partial(translate_lines, setup=self.setup, prefixes=prefixes, counts=self.counts)
        if (restorer := self.restorer) is None:
            return translate(lines)
        return restorer.stream(lines, translate, restorer.restored)

    def n_best(self, lines: Iterable[str], *, n: int, prefixes: Prefixes = None) -> list[list[Candidate]]:
        """For each line its best `n` translations with their scores, at most as many as the beam; with sampling, `n`
        samples in the order in which they were drawn."""
        return list(self.n_best_stream(lines, n=n, prefixes=prefixes))

    def n_best_stream(
        self, lines: Iterable[str], *, n: int, prefixes: Prefixes = None
    ) -> Iterator[list[Candidate]]:
        """The same line by line, in bounded memory. At least one candidate a line, fewer than `n` where a line has
        fewer translations within its limit, an empty one where there is nothing to translate."""
        lines = checked_texts(lines, name="lines")
        self.setup.search.width(n)  # so that a number that is too large is reported now
        translate = partial(n_best_lines, setup=self.setup, n=n, prefixes=prefixes, counts=self.counts)
        if (restorer := self.restorer) is None:
            return translate(lines)
        return restorer.stream(
            lines,
            translate,
            lambda line, few: [replace(each, text=restorer.restored(line, each.text)) for each in few],
        )

    def translate_documents(
        self, documents: Iterable[Sequence[str]], *, side_by_side: int = DOCUMENTS_SIDE_BY_SIDE
    ) -> Iterator[list[str]]:
        """The translation of each document, sentence for sentence; see `stream_documents`."""
        return gathered(
            checked_documents(documents), partial(self.stream_documents, side_by_side=side_by_side)
        )

    def stream_documents(
        self, documents: Iterable[Iterable[str]], *, side_by_side: int = 1
    ) -> Iterator[tuple[int, str]]:
        """The translation of every sentence, in order, each as soon as it is done, with the number of its document.

        A model that was trained with the transform `context` reads the sentences before, and continues from its own
        translations of them. Of a document no more is read than is translated next; several of them are translated
        side by side, and then what comes later waits for what comes first.
        """
        documents = checked_documents(documents)
        if self.setup.shortlist is not None:
            raise _no_shortlists("documents in context", fix="leave --shortlist or --documents out")
        if self.setup.search.mbr is not None:
            raise input_error(
                "--mbr: chooses among translations of single lines",
                got="documents in context",
                allowed="--mbr, or --documents",
                fix="leave one of them out",
            )
        run = partial(
            translate_documents,
            setup=with_dynamic_shapes(self.setup),
            context=self.context,
            side_by_side=side_by_side,
            counts=self.counts,
        )
        if (restorer := self.restorer) is None:
            return run(documents)
        return restored_documents(documents, run, restorer)

    def translate_stream(
        self, source: BinaryLines, output: TextOutput, *, name: str = "input", prefixes: Prefixes = None
    ) -> None:
        """Every line of a UTF-8 stream, translated and written as soon as its block is done.

        InputError names the first line that is not UTF-8, after what came before it was written.
        """
        for line in self.stream(read_lines(source, name=name), prefixes=prefixes):
            output.write(line + "\n")
        output.flush()

    def write_documents(
        self, source: BinaryLines, output: TextOutput, *, form: DocumentForm = "text", name: str = "input"
    ) -> None:
        """Every document of a UTF-8 stream, translated: each sentence is written as soon as it is done, or each
        document where the form is `jsonl`, a document a line. InputError names the first line that is wrong, and is
        raised for a model that reads no context."""
        if not self.context.sentences:
            raise _reads_no_context()
        lines = read_lines(source, name=name)
        if form == "jsonl":
            values: list[Any] = []
            read = json_documents(lines, name=name)
            documents = (values.append(value) or sentences for value, sentences in read)
            for number, translation in enumerate(self.translate_documents(documents)):
                output.write(json_line(values[number], translation) + "\n")
                values[number] = None
                output.flush()
            return
        borders, before = 0, self.counts.documents
        for number, sentence in self.stream_documents(text_documents(lines)):
            output.write("\n" * (number - borders) + sentence + "\n")
            output.flush()
            borders = number
        output.write("\n" * (self.counts.documents - before - 1 - borders))
        output.flush()

    def write_n_best(
        self,
        source: BinaryLines,
        output: TextOutput,
        *,
        n: int,
        name: str = "input",
        prefixes: Prefixes = None,
    ) -> None:
        """The same for `n` translations of each line, in the form of `decode.n_best_format`."""
        lines = read_lines(source, name=name)
        for number, candidates in enumerate(self.n_best_stream(lines, n=n, prefixes=prefixes)):
            output.write(n_best_text(number, candidates))
        output.flush()


def _no_shortlists(got: str, *, fix: str) -> InputError:
    return input_error(
        "--shortlist: only makes runs faster that translate line by line on a CPU",
        got=got,
        allowed="a run on a CPU, without --documents",
        fix=fix,
    )


def _reads_no_context() -> InputError:
    return input_error(
        "--documents: the model reads each sentence by itself and cannot use the sentences before it",
        got="a model that was trained without context",
        allowed="a run whose data.transforms have `context`",
        fix="leave --documents out, which translates the same lines one by one; or train on documents with `context`",
    )
