"""A trained model ready to translate text: lines, lists, or whole files as a stream."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, Protocol, runtime_checkable

import torch

from trimtab.build import Parts, build_model, half_copy
from trimtab.checkpoint.load import Checkpoint
from trimtab.checkpoint.resolve import resolve_checkpoint
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.checkpoint.telling import log_finding
from trimtab.config.load import load_recipe
from trimtab.config.run import Recipe
from trimtab.data.context import context_of
from trimtab.data.sentencepiece_model import SentencePiece
from trimtab.data.tags import check_tags, unlike_training
from trimtab.data.tokenizers import Tokenizers, load_tokenizers
from trimtab.data.transforms.apply import build_transforms
from trimtab.data.transforms.restore import Restorer
from trimtab.decode.candidate import Candidate
from trimtab.decode.document_context import ALONE, DocumentContext
from trimtab.decode.document_lines import json_documents, json_line, text_documents
from trimtab.decode.documents import DocumentCounts, translate_documents
from trimtab.decode.ensemble import Ensemble, EnsembleMode
from trimtab.decode.given_prefix import Prefix
from trimtab.decode.lines import n_best_lines, translate_lines
from trimtab.decode.n_best_format import n_best_text
from trimtab.decode.reading import BinaryLines, read_lines
from trimtab.decode.search import Search
from trimtab.decode.setup import TranslationSetup
from trimtab.device import choose_device
from trimtab.errors import input_error
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.session import SessionOpener
from trimtab.step.precision import resolve_precision

DOCUMENTS_SIDE_BY_SIDE = 64
CPU_BATCH_TOKENS = 2048
GPU_BATCH_TOKENS = 32768
DocumentForm = Literal["text", "jsonl"]
"""Blocks between empty lines, or a list of sentences a line."""
Prefixes = Iterable[Prefix | None] | str | None
"""What translations must begin with: a text for all lines, or for each line text, ids or None."""


@dataclass(frozen=True, slots=True)
class Tagged:
    """A tokenizer that puts tags before every line; see `flow.Tokenizer`.

    Lines become ids of the source's vocabulary; everything else is of the target's.
    """

    inner: Tokenizers
    tags: tuple[str, ...]

    @property
    def num_ids(self) -> int:
        """Size of the vocabulary."""
        return self.inner.target.num_ids

    @property
    def pad(self) -> int:
        """Id of the padding symbol."""
        return self.inner.target.pad

    @property
    def unknown(self) -> int:
        """Id of what has no piece."""
        return self.inner.target.unknown

    @property
    def start(self) -> int:
        """Id that a translation starts from."""
        return self.inner.target.start

    @property
    def end(self) -> int:
        """Id that ends a translation."""
        return self.inner.target.end

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Ids of each line behind the tags, end symbol included; that alone where there is nothing to be tagged."""
        rows = self.inner.source.encode_with_tags(lines, self.tags)
        return [row if len(row) > len(self.tags) + 1 else row[-1:] for row in rows]

    def decode(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """Text of each row of ids."""
        return self.inner.target.decode(rows)


@runtime_checkable
class TextOutput(Protocol):
    """What is needed of a file that was opened to write text."""

    def write(self, text: str, /) -> int:
        """Takes some text."""
        ...

    def flush(self) -> None:
        """Hands on what was taken."""
        ...


@dataclass(slots=True)
class Translator:
    """A model, its tokenizer and how to search; counts what it did."""

    setup: TranslationSetup
    counts: DocumentCounts
    restorer: Restorer | None = None
    """What puts back what the transform `protect` took out of the lines."""
    context: DocumentContext = ALONE
    """What stands before a sentence where documents are translated."""

    @classmethod
    def of(cls, parts: Parts, model: EncoderDecoder, *, beam: int, tags: tuple[str, ...]) -> "Translator":
        """A translator for a model in training."""
        tokenizer = Tagged(parts.sources.tokenizers, tags)
        return cls(
            translation_setup(
                model,
                tokenizer,
                parts.sources.pipeline.apply_source,
                recipe=parts.recipe,
                search=Search(beam=beam),
            ),
            DocumentCounts(),
            parts.sources.pipeline.restorer(),
            document_context(parts.recipe, parts.sources.tokenizers, num_tags=len(tags)),
        )

    def translate(self, lines: Iterable[str], *, prefixes: Prefixes = None) -> list[str]:
        """One translation for each line; see `stream`."""
        return list(self.stream(lines, prefixes=prefixes))

    def stream(self, lines: Iterable[str], *, prefixes: Prefixes = None) -> Iterator[str]:
        """One translation for each line, in order, in bounded memory.

        `prefixes` are what translations must begin with: one for each line, as text or as ids of the target
        vocabulary (None forces nothing), or one text for all lines. The prefix is the first part of the translation
        that comes out; a line that is cut in pieces has it before the first. Its text is cut into pieces of the
        vocabulary by itself, so it should end where a word ends. Raises InputError for a prefix that cannot be
        forced, and where there are not as many as lines.
        """
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
        self.setup.search.width(n)  # so that a number that is too large is told now
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
        sizes: list[int] = []

        def measured() -> Iterator[Sequence[str]]:
            for document in documents:
                sizes.append(len(document))
                yield document

        given, done = 0, list[str]()
        for number, sentence in self.stream_documents(measured(), side_by_side=side_by_side):
            while given < number:
                yield done
                given, done = given + 1, []
            done.append(sentence)
        while given < len(sizes):
            yield done
            given, done = given + 1, []

    def stream_documents(
        self, documents: Iterable[Iterable[str]], *, side_by_side: int = 1
    ) -> Iterator[tuple[int, str]]:
        """The translation of every sentence, in order, each as soon as it is done, with the number of its document.

        A model that was trained with the transform `context` reads the sentences before, and goes on from its own
        translations of them. Of a document no more is read than is translated next; several of them are translated
        side by side, and then what comes later waits for what comes first.
        """
        run = partial(
            translate_documents,
            setup=self.setup,
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
        document where the form is `jsonl`, a document a line. InputError names the first line that is wrong."""
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


def restored_documents(
    documents: Iterable[Iterable[str]],
    run: Callable[[Iterable[Iterable[str]]], Iterator[tuple[int, str]]],
    restorer: Restorer,
) -> Iterator[tuple[int, str]]:
    """What `run` makes of the documents, with what was protected put back into every sentence."""
    read: dict[int, deque[str]] = defaultdict(deque)

    def noted(number: int, sentences: Iterable[str]) -> Iterator[str]:
        for sentence in sentences:
            read[number].append(sentence)
            yield sentence

    for number, text in run(noted(number, sentences) for number, sentences in enumerate(documents)):
        yield number, restorer.restored(read[number].popleft(), text)


def document_context(recipe: Recipe, tokenizers: Tokenizers, *, num_tags: int) -> DocumentContext:
    """How the model of a recipe reads documents."""
    config = context_of(recipe.data)
    if config is None:
        return replace(ALONE, num_tags=num_tags)
    both = config.sides == "both"
    return DocumentContext(
        sentences=config.sentences,
        both=both,
        whole=config.loss == "all",
        source_separator=tokenizers.source.id(config.separator),
        target_separator=tokenizers.target.id(config.separator) if both else ALONE.target_separator,
        num_tags=num_tags,
    )


def translation_setup(
    model: EncoderDecoder,
    tokenizer: Tagged,
    normalise: "Callable[[str], str]",
    *,
    recipe: Recipe,
    search: Search,
) -> TranslationSetup:
    """How this model translates; batches fit the device."""
    device = model.output_matrix.device
    return TranslationSetup(
        model=SessionOpener(model),
        tokenizer=tokenizer,
        device=device,
        normalise=normalise,
        max_tokens=recipe.data.max_tokens,
        search=search,
        batch_tokens=GPU_BATCH_TOKENS if device.type == "cuda" else CPU_BATCH_TOKENS * search.beam,
        encode_target=tokenizer.inner.target.encode,
    )


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A checkpoint's model on its device, in evaluation mode, with what belongs to it."""

    recipe: Recipe
    checkpoint: Checkpoint
    model: EncoderDecoder
    tokenizers: Tokenizers

    @property
    def tokenizer(self) -> SentencePiece:
        """The target's tokenizer, which is also the source's where they share one."""
        return self.tokenizers.target

    def translator(self, *, search: Search, tags: tuple[str, ...] = ()) -> Translator:
        """Ready to translate; logs a warning where no line of the training was tagged so.

        Raises InputError for a tag that the vocabulary does not have.
        """
        pipeline = build_transforms(self.recipe.data.transforms)
        check_tags(tags, self.tokenizers.source)
        for finding in unlike_training(tags, self.recipe.data):
            log_finding(finding)
        tokenizer = Tagged(self.tokenizers, tags)
        setup = translation_setup(
            self.model, tokenizer, pipeline.apply_source, recipe=self.recipe, search=search
        )
        context = document_context(self.recipe, self.tokenizers, num_tags=len(tags))
        return Translator(setup, DocumentCounts(), pipeline.restorer(), context)


def load_model(spec: str, *, device: str | None = None) -> LoadedModel:
    """The model of `RUN`, `RUN@last` or `RUN@500`; on a GPU in half precision.

    Raises InputError where there is no such run or checkpoint, the checkpoint is damaged, or recipe or tokenizer are
    not those that it was trained with.
    """
    place = choose_device(device)
    checkpoint = resolve_checkpoint(spec)
    run = RunFolder(checkpoint.run)
    recipe = load_recipe(run.recipe).recipe
    tokenizers = load_tokenizers(run.tokenizer)
    check_tokenizers(tokenizers, run, checkpoint)
    model = build_model(recipe, tokenizers, device=torch.device("cpu"))
    load_weights(model, run, checkpoint)
    if place.type == "cuda":
        half = torch.float16 if resolve_precision("auto", place) == "fp16_mixed" else torch.bfloat16
        model = half_copy(model, half)
        model.kernel = "varlen"
    return LoadedModel(recipe, checkpoint, model.to(place).eval(), tokenizers)


def check_tokenizers(tokenizers: Tokenizers, run: RunFolder, checkpoint: Checkpoint) -> None:
    """Raises InputError where the ids of a side mean something else than they did in training."""
    found, trained_with = tokenizers.fingerprints, checkpoint.fingerprints
    for name in ("tokenizer", "source_tokenizer"):
        here, there = found.get(name), trained_with.get(name)
        if here != there and "tokenizer" in trained_with:
            raise input_error(
                f"{run.tokenizer}: not the {name.replace('_', ' ')} that the model was trained with",
                got=f"sha256 {here[:16]}" if here else "none",
                allowed=f"{there[:16] if there else 'none'}, as checkpoint {checkpoint.folder.name} says",
                fix="put back the tokenizer of this run",
            )


def load_weights(model: EncoderDecoder, run: RunFolder, checkpoint: Checkpoint) -> None:
    """Puts a checkpoint's weights into the model; InputError where the recipe describes another one."""
    try:
        model.load_state_dict(checkpoint.load_model())
    except RuntimeError as error:
        raise input_error(
            f"{run.recipe}: describes another model than the one in checkpoint {checkpoint.folder.name}",
            got=" ".join(str(error).split(":", 1)[-1].split())[:200],
            fix="put back the recipe that this run was trained with",
        ) from None


def load_translator(
    spec: str | Sequence[str],
    *,
    beam: int = 4,
    length_penalty: float = 1.0,
    search: Search | None = None,
    tags: Sequence[str] = (),
    device: str | None = None,
    ensemble: EnsembleMode = "linear",
) -> Translator:
    """A translator for `RUN`, `RUN@last` or `RUN@500`, which puts `tags` before every line as training did.

    Several of them translate together, their distributions averaged as `ensemble` says; see `decode.ensemble`. Where
    `search` is given it says everything about the search, in place of `beam` and `length_penalty`.

    Raises InputError for a tag that the vocabulary does not have and for models of different vocabularies, besides
    what `load_model` raises.
    """
    search = search or Search(beam=beam, length_penalty=length_penalty)
    specs = [spec] if isinstance(spec, str) else list(spec)
    models = [load_model(each, device=device) for each in specs]
    translator = models[0].translator(search=search, tags=tuple(tags))
    if len(models) > 1:
        translator.setup = together(models, translator.setup, mode=ensemble)
    return translator


def together(
    models: Sequence[LoadedModel], setup: TranslationSetup, *, mode: EnsembleMode
) -> TranslationSetup:
    """The first model's setup with all of them in it, and with the shortest of their `max_tokens`.

    Raises InputError where their vocabularies differ, or what they do to a line before it is tokenised.
    """
    first = models[0]
    for other in models[1:]:
        if other.tokenizers.fingerprints != first.tokenizers.fingerprints:
            raise input_error(
                f"{other.checkpoint.run}: has another vocabulary than {first.checkpoint.run}, so they cannot translate "
                "together",
                got="sha256 "
                + " and ".join(
                    "+".join(mark[:16] for mark in each.tokenizers.fingerprints.values())
                    for each in (other, first)
                ),
                allowed="runs with one tokenizer",
                fix="train them with the same `data.tokenizer.path`, or take checkpoints of one run: RUN@500 RUN@1000",
            )
        if text_steps(other) != text_steps(first):
            raise input_error(
                f"{other.checkpoint.run}: reads text otherwise than {first.checkpoint.run}, so they cannot translate "
                "together",
                got="different `data.transforms`",
                allowed="runs whose transforms do the same to a line",
                fix="take runs with the same `data.transforms`",
            )
    return replace(
        setup,
        model=Ensemble([SessionOpener(each.model) for each in models], mode=mode),
        max_tokens=min(each.recipe.data.max_tokens for each in models),
    )


def text_steps(model: LoadedModel) -> list[str]:
    """What the transforms do to a line that is translated, as text to compare; filters do nothing to it."""
    steps = build_transforms(model.recipe.data.transforms).of_translation.steps
    return [repr(step) for step in steps]
