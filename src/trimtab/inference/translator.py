"""A model, its tokenizer and how to search, for lines, documents and whole files as a stream."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import tee
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from trimtab.config.run import Recipe
from trimtab.data.source_factors import checked_values
from trimtab.data.transforms.restore import Restorer
from trimtab.decode.candidate import Candidate, n_best_text
from trimtab.decode.document_context import ALONE, DocumentContext
from trimtab.decode.document_lines import json_documents, json_line, text_documents
from trimtab.decode.documents import DocumentCounts, translate_documents
from trimtab.decode.given_prefix import Prefix
from trimtab.decode.given_texts import checked_documents, checked_texts
from trimtab.decode.glossary import Glossary
from trimtab.decode.lines import BLOCK_LINES, n_best_lines, translate_lines
from trimtab.decode.reading import BinaryLines, read_lines
from trimtab.decode.search import Search
from trimtab.decode.setup import TranslationSetup
from trimtab.decode.terminology import Terminology
from trimtab.errors import InputError, input_error
from trimtab.inference.aligner import Aligner, Links, in_blocks, no_aligner, render_links
from trimtab.inference.document_streams import gathered, restored_documents
from trimtab.inference.recorded import with_dynamic_shapes
from trimtab.inference.setup import document_context, kept_whole, translation_setup
from trimtab.inference.shortlist_file import read_shortlist
from trimtab.inference.sizes import checked_batch_tokens, checked_max_length
from trimtab.inference.tagged import Tagged
from trimtab.inference.terminology import GlossaryLike, with_glossary
from trimtab.model.kinds import Model

DOCUMENTS_SIDE_BY_SIDE = 64
ALIGNED_LINES = 1024
"""Lines whose words are aligned together."""
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
    read_ahead: int = BLOCK_LINES
    """Lines that are read before the first of them is translated; with 1, each line is answered at once."""
    open_aligner: Callable[[tuple[str, ...]], Aligner] | None = None
    """Opens what aligns words behind these tags; None where the model cannot, as exports and ensembles cannot."""
    aligner: Aligner | None = None
    """What aligns words, once it was needed."""
    glossary: tuple[Glossary, Terminology] | None = None
    """The last glossary that was given opened, and its terms in ids."""

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

    def sized(self, *, batch_tokens: int | None = None, max_length: int | None = None) -> "Translator":
        """The same with other batches (source tokens, padding included, times the beam), or with a shorter longest
        side, above which a line is translated in pieces. InputError for a length that the model was not trained with.
        """
        setup = replace(
            self.setup,
            batch_tokens=checked_batch_tokens(batch_tokens, usual=self.setup.batch_tokens),
            max_tokens=checked_max_length(max_length, most=self.setup.max_tokens, name="the model"),
        )
        return replace(self, setup=setup)

    def tagged(self, tags: Sequence[str]) -> "Translator":
        """The same with these tags before every line in place of others; they are in the vocabulary."""
        tokenizer = self.setup.tokenizer
        assert isinstance(tokenizer, Tagged), "the tokenizer of a translator puts tags before lines"
        setup = replace(self.setup, tokenizer=replace(tokenizer, tags=tuple(tags)))
        return replace(self, setup=setup, context=replace(self.context, num_tags=len(tags)))

    def with_shortlist(self, path: Path | str) -> "Translator":
        """The same translator, in whose output layer a batch has only the pieces that its source may need, as the file
        that `trimtab.build_shortlist` wrote says: faster on a CPU, and a few translations differ.

        Raises InputError for a file of other vocabularies, for an export and a pretrained model that transformers
        computes, and on a GPU, which it would not make faster.
        """
        setup = self.setup
        assert isinstance(setup.tokenizer, Tagged), "the tokenizer of a translator puts tags before lines"
        if kept := kept_whole(setup.model):
            raise _no_shortlists(
                kept, fix="leave --shortlist out, or translate with a run of trimtab's own model"
            )
        if setup.device.type != "cpu":
            raise _no_shortlists(f"a model on {setup.device.type}", fix="add --device cpu, or leave it out")
        shortlist = read_shortlist(path, tokenizers=setup.tokenizer.inner)
        return replace(self, setup=replace(setup, shortlist=shortlist), counts=DocumentCounts())

    def translate(
        self, lines: Iterable[str], *, prefixes: Prefixes = None, glossary: GlossaryLike | None = None
    ) -> list[str]:
        """One translation for each line; see `stream`."""
        return list(self.stream(lines, prefixes=prefixes, glossary=glossary))

    def stream(
        self, lines: Iterable[str], *, prefixes: Prefixes = None, glossary: GlossaryLike | None = None
    ) -> Iterator[str]:
        """One translation for each line, in order, in bounded memory.

        `prefixes` are what translations must begin with: one for each line, as text or as ids of the target
        vocabulary (None forces nothing), or one text for all lines. The prefix is the first part of the translation
        that comes out; a line that is cut in pieces has it before the first. Its text is cut into pieces of the
        vocabulary by itself, so it should end where a word ends. Raises InputError for a prefix that cannot be
        forced, and where there are not as many as lines; and for a text alone in place of a list.

        `glossary` has terms that a translation must have where they are in its line: a file of `source<TAB>target`, or
        a mapping from terms to one target or several; for many calls, open it once: `trimtab.open_glossary`. It
        excludes prefixes and sampling; `counts.missing_terms` says how many terms could not be kept, of which the log
        warns with the line.
        """
        lines = checked_texts(lines, name="lines")
        if columns := self.setup.factor_columns:
            lines = checked_values(lines, columns, name="lines")
        setup = self._with_glossary(glossary, prefixes)
        translate = partial(
            translate_lines,
            setup=setup,
            prefixes=prefixes,
            counts=self.counts,
            block_lines=self.read_ahead,
        )
        if (restorer := self.restorer) is None:
            return translate(lines)
        return restorer.stream(lines, translate, restorer.restored)

    def align(self, sources: Sequence[str], translations: Sequence[str]) -> list[Links]:
        """The word alignment of each pair: links between words of the source and words of the translation, both counted
        from 0, as `i-j` of the Pharaoh format has them. Words are what white space separates.

        The translations may come from anywhere. A pair that is longer than the model reads has no links. Raises
        InputError for exports, ensembles and language models.
        """
        aligner = self._opened_aligner()
        sources, translations = (
            list(checked_texts(each, name=name))
            for each, name in ((sources, "sources"), (translations, "translations"))
        )
        if len(sources) != len(translations):
            raise input_error(
                "translations: not as many as sources",
                got=f"{len(sources)} sources and {len(translations)} translations",
                allowed="one translation for each source",
                fix="check that both come from the same set",
            )
        return aligner.align(sources, translations)

    def _with_glossary(self, given: GlossaryLike | None, prefixes: Prefixes) -> TranslationSetup:
        setup = with_glossary(self.setup, given, prefixes=prefixes, known=self.glossary)
        if isinstance(given, Glossary) and setup.terminology is not None:
            self.glossary = given, setup.terminology
        return setup

    def _opened_aligner(self) -> Aligner:
        if self.open_aligner is None:
            raise no_aligner("an export or an ensemble")
        tokenizer = self.setup.tokenizer
        tags = tokenizer.tags if isinstance(tokenizer, Tagged) else ()
        if self.aligner is None or self.aligner.tags != tags:
            self.aligner = self.open_aligner(tags)
        return self.aligner

    def n_best(
        self,
        lines: Iterable[str],
        *,
        n: int,
        prefixes: Prefixes = None,
        glossary: GlossaryLike | None = None,
    ) -> list[list[Candidate]]:
        """For each line its best `n` translations with their scores, at most as many as the beam; with sampling, `n`
        samples in the order in which they were drawn."""
        return list(self.n_best_stream(lines, n=n, prefixes=prefixes, glossary=glossary))

    def n_best_stream(
        self,
        lines: Iterable[str],
        *,
        n: int,
        prefixes: Prefixes = None,
        glossary: GlossaryLike | None = None,
    ) -> Iterator[list[Candidate]]:
        """The same line by line, in bounded memory. At least one candidate a line, fewer than `n` where a line has
        fewer translations within its limit, an empty one where there is nothing to translate."""
        lines = checked_texts(lines, name="lines")
        self.setup.search.width(n)  # so that a number that is too large is reported now
        setup = self._with_glossary(glossary, prefixes)
        translate = partial(
            n_best_lines,
            setup=setup,
            n=n,
            prefixes=prefixes,
            counts=self.counts,
            block_lines=self.read_ahead,
        )
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
        self,
        source: BinaryLines,
        output: TextOutput,
        *,
        name: str = "input",
        prefixes: Prefixes = None,
        glossary: GlossaryLike | None = None,
        alignments: TextOutput | None = None,
    ) -> None:
        """Every line of a UTF-8 stream, translated and written as soon as its block is done; and its word alignment
        with it, where there is a file for `alignments`.

        InputError names the first line that is not UTF-8, after what came before it was written.
        """
        lines = read_lines(source, name=name)
        if alignments is None:
            for line in self.stream(lines, prefixes=prefixes, glossary=glossary):
                output.write(line + "\n")
                if self.read_ahead == 1:
                    output.flush()
            output.flush()
            return
        self._opened_aligner()  # so that a model that has none is refused before it translates
        lines, again = tee(lines)
        translated = zip(self.stream(lines, prefixes=prefixes, glossary=glossary), again, strict=False)
        for block in in_blocks(translated, min(ALIGNED_LINES, self.read_ahead)):
            found = self.align([line for _, line in block], [translation for translation, _ in block])
            alignments.write("".join(render_links(links) + "\n" for links in found))
            output.write("".join(translation + "\n" for translation, _ in block))
            if self.read_ahead == 1:
                output.flush()
                alignments.flush()
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
        glossary: GlossaryLike | None = None,
    ) -> None:
        """The same for `n` translations of each line, in the form of `decode.n_best_format`."""
        lines = read_lines(source, name=name)
        lists = self.n_best_stream(lines, n=n, prefixes=prefixes, glossary=glossary)
        for number, candidates in enumerate(lists):
            output.write(n_best_text(number, candidates))
            if self.read_ahead == 1:
                output.flush()
        output.flush()


def _no_shortlists(got: str, *, fix: str) -> InputError:
    return input_error(
        "--shortlist: only makes runs faster that translate line by line on a CPU",
        got=got,
        allowed="a run of trimtab's own model on a CPU, without --documents",
        fix=fix,
    )


def _reads_no_context() -> InputError:
    return input_error(
        "--documents: the model reads each sentence by itself and cannot use the sentences before it",
        got="a model that was trained without context",
        allowed="a run whose data.transforms have `context`",
        fix="leave --documents out, which translates the same lines one by one; or train on documents with `context`",
    )
