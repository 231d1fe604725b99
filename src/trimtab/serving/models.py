"""The model of a run or an export as the model's thread uses it: a translator, or a language model."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from trimtab.checkpoint.resolve import resolve_checkpoint
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.config.given_path import RUN, path_text
from trimtab.config.load import load_recipe
from trimtab.config.pairs_alone import learns_pairs_alone
from trimtab.config.run import Recipe
from trimtab.data.source_factors import checked_values
from trimtab.data.tags import check_tags, vocabulary_tags
from trimtab.decode.batches import batches_by_tokens
from trimtab.decode.continuation import Continuation
from trimtab.decode.search import Search, Stop
from trimtab.device import set_threads
from trimtab.errors import input_error
from trimtab.export.open_export import is_export, read_export
from trimtab.inference import Generator, Tagged, Translator, load_generator, open_model
from trimtab.inference.written_together import WantedText, longest_text, written_together
from trimtab.serving.batcher import Made, Piece

ModelKind = Literal["translation", "language_model"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """How a served model translates or writes, and how large its batches are."""

    beam: int = 4
    length_penalty: float = 1.0
    stop: Stop = "exact"
    """When beam search ends; see `decode.search.Search`."""
    tags: tuple[str, ...] = ()
    """Before every line of a request that names no tags."""
    device: str | None = None
    threads: int | None = None
    """CPU threads; None leaves them as they are."""
    batch_tokens: int | None = None
    """Tokens of a batch, padding included, times the beam; None takes what suits the device."""
    max_length: int | None = None
    """Longest side, or text with its prompt, in tokens; None takes the longest of the training."""
    window_ms: float = 5.0
    """How long the first line of a batch waits for those of other requests."""


@dataclass(frozen=True, slots=True)
class ServedTranslator:
    """Lines of several requests in, their translations out."""

    translator: Translator
    recipe: Recipe
    kind: ModelKind = "translation"
    does: ClassVar[str] = "translates"

    @property
    def budget(self) -> int:
        """Source tokens of a batch."""
        setup = self.translator.setup
        return max(1, setup.batch_tokens // setup.search.beam)

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags that lines may have before them."""
        return vocabulary_tags(self._tokenizer.inner.source, self.recipe.data)

    def costs(self, lines: Sequence[str], *, name: str) -> list[int]:
        """The tokens of each line. InputError, with the line of `name`, for a word without its source factors."""
        setup = self.translator.setup
        columns = setup.factor_columns
        given = checked_values(lines, columns, name=name) if columns else lines
        texts = [setup.normalise(_whole_characters(line)) for line in given]
        return [len(ids) for ids in setup.tokenizer.encode(texts)]

    def checked_tags(self, tags: Sequence[str] | None) -> tuple[str, ...]:
        """The tags as the vocabulary spells them, the server's own where none are given. Raises InputError for a tag
        that there is not."""
        if tags is None:
            return self._tokenizer.tags
        return check_tags(tags, self._tokenizer.inner.source, config=self.recipe.data)

    def run(self, pieces: Sequence[Piece]) -> Iterator[list[Made]]:
        """See `batcher.Runs`; the key of work is its tags."""
        tags = pieces[0].work.key
        assert isinstance(tags, tuple)
        pieces = [piece for piece in pieces if piece.work.is_awaited]
        texts = self.translator.tagged(tags).translate([piece.content for piece in pieces])
        yield [Made(piece, text, True) for piece, text in zip(pieces, texts, strict=True)]

    @property
    def _tokenizer(self) -> Tagged:
        tokenizer = self.translator.setup.tokenizer
        assert isinstance(tokenizer, Tagged), "as it is loaded"
        return tokenizer


@dataclass(frozen=True, slots=True)
class ServedGenerator:
    """Texts that several requests want, written together."""

    generator: Generator
    kind: ModelKind = "language_model"
    does: ClassVar[str] = "continues texts"

    @property
    def budget(self) -> int:
        """Tokens of a batch."""
        return self.generator.batch_tokens

    def run(self, pieces: Sequence[Piece]) -> Iterator[list[Made]]:
        """See `batcher.Runs`; the key of work is its sampling without the seed."""
        lengths = [piece.cost for piece in pieces]
        for batch in batches_by_tokens(lengths, beam=1, batch_tokens=self.generator.batch_tokens):
            few = [pieces[place] for place in batch if pieces[place].work.is_awaited]
            if few:
                yield from self._written(few)

    def cost(self, wanted: WantedText) -> int:
        """Most tokens of a text with its prompt."""
        return longest_text(wanted, self.generator)

    def _written(self, pieces: Sequence[Piece]) -> Iterator[list[Made]]:
        wanted: list[WantedText] = [piece.content for piece in pieces]
        steps = written_together(
            self.generator, wanted, is_awaited=lambda place: pieces[place].work.is_awaited
        )
        for step in steps:
            yield [Made(pieces[place], each, isinstance(each, Continuation)) for place, each in step]


Served = ServedTranslator | ServedGenerator


def open_served(spec: str, options: ServeOptions) -> Served:
    """The model of a run or an export, on its device. Raises InputError for what `translate` and `generate` refuse."""
    spec = path_text(spec, name="run", allowed=RUN)
    if options.threads is not None:
        set_threads(options.threads)
    sizes = {"batch_tokens": options.batch_tokens, "max_length": options.max_length}
    if model_kind(spec) == "language_model":
        _refuse_options_of_translators(spec, options)
        return ServedGenerator(load_generator(spec, device=options.device).sized(**sizes))
    search = Search(beam=options.beam, length_penalty=options.length_penalty, stop=options.stop)
    model = open_model(spec, device=options.device)
    translator = model.translator(search=search, tags=options.tags).sized(**sizes)
    return ServedTranslator(translator, model.recipe)


def model_kind(spec: str) -> ModelKind:
    """What the model of a run or an export does; a language model that was trained on pairs alone translates."""
    if is_export(Path(spec)):
        recipe = read_export(Path(spec)).recipe
    else:
        recipe = load_recipe(RunFolder(resolve_checkpoint(spec).run).recipe).recipe
    return (
        "language_model" if recipe.facts.continues_texts and not learns_pairs_alone(recipe) else "translation"
    )


def _refuse_options_of_translators(spec: str, options: ServeOptions) -> None:
    usual = ServeOptions()
    names = ("beam", "length_penalty", "stop", "tags")
    given = [name for name in names if getattr(options, name) != getattr(usual, name)]
    if given:
        raise input_error(
            f"{', '.join(given)}: only for models that translate",
            got=f"{spec}, a language model",
            allowed="a translation model, or none of them",
            fix="leave them out; each request says how its texts are sampled",
        )


def _whole_characters(line: str) -> str:
    return line.encode("utf-8", "replace").decode("utf-8")
