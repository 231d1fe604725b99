"""A trained model ready to translate text: lines, lists, or whole files as a stream."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch

from trimtab.build import Parts, build_model, half_copy
from trimtab.checkpoint.load import Checkpoint
from trimtab.checkpoint.resolve import resolve_checkpoint
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.config.load import load_recipe
from trimtab.config.run import Recipe
from trimtab.data.sentencepiece_model import SentencePiece, load_tokenizer
from trimtab.data.transforms.apply import build_transforms
from trimtab.decode.lines import translate_lines
from trimtab.decode.reading import BinaryLines, read_lines
from trimtab.decode.search import Search
from trimtab.decode.setup import TranslationCounts, TranslationSetup
from trimtab.device import choose_device
from trimtab.errors import input_error
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.session import SessionOpener
from trimtab.step.precision import resolve_precision

CPU_BATCH_TOKENS = 2048
GPU_BATCH_TOKENS = 32768


@dataclass(frozen=True, slots=True)
class Tagged:
    """A tokenizer that puts tags before every line; see `flow.Tokenizer`."""

    inner: SentencePiece
    tags: tuple[str, ...]

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
        """Id of what has no piece."""
        return self.inner.unknown

    @property
    def start(self) -> int:
        """Id that a translation starts from."""
        return self.inner.start

    @property
    def end(self) -> int:
        """Id that ends a line."""
        return self.inner.end

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Ids of each line behind the tags, end symbol included; that alone where there is nothing to be tagged."""
        rows = self.inner.encode_with_tags(lines, self.tags)
        return [row if len(row) > len(self.tags) + 1 else [self.end] for row in rows]

    def decode(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """Text of each row of ids."""
        return self.inner.decode(rows)


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
    counts: TranslationCounts

    @classmethod
    def of(cls, parts: Parts, model: EncoderDecoder, *, beam: int, tags: tuple[str, ...]) -> "Translator":
        """A translator for a model in training."""
        tokenizer = Tagged(parts.sources.tokenizer, tags)
        return cls(
            translation_setup(
                model,
                tokenizer,
                parts.sources.pipeline.apply_source,
                recipe=parts.recipe,
                search=Search(beam=beam),
            ),
            TranslationCounts(),
        )

    def translate(self, lines: Iterable[str]) -> list[str]:
        """One translation for each line."""
        return list(self.stream(lines))

    def stream(self, lines: Iterable[str]) -> Iterator[str]:
        """One translation for each line, in order, in bounded memory."""
        return translate_lines(lines, self.setup, counts=self.counts)

    def translate_stream(self, source: BinaryLines, output: TextOutput, *, name: str = "input") -> None:
        """Every line of a UTF-8 stream, translated and written as soon as its block is done.

        InputError names the first line that is not UTF-8, after what came before it was written.
        """
        for line in self.stream(read_lines(source, name=name)):
            output.write(line + "\n")
        output.flush()


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
    )


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A checkpoint's model on its device, in evaluation mode, with what belongs to it."""

    recipe: Recipe
    checkpoint: Checkpoint
    model: EncoderDecoder
    tokenizer: SentencePiece

    def translator(self, *, search: Search, tags: tuple[str, ...] = ()) -> Translator:
        """Ready to translate."""
        normalise = build_transforms(self.recipe.data.transforms).apply_source
        self.tokenizer.encode_with_tags([], tags)  # so that an unknown tag is told now
        tokenizer = Tagged(self.tokenizer, tags)
        setup = translation_setup(self.model, tokenizer, normalise, recipe=self.recipe, search=search)
        return Translator(setup, TranslationCounts())


def load_model(spec: str, *, device: str | None = None) -> LoadedModel:
    """The model of `RUN`, `RUN@last` or `RUN@500`; on a GPU in half precision.

    Raises InputError where there is no such run or checkpoint, the checkpoint is damaged, or recipe or tokenizer are
    not those that it was trained with.
    """
    place = choose_device(device)
    checkpoint = resolve_checkpoint(spec)
    run = RunFolder(checkpoint.run)
    recipe = load_recipe(run.recipe).recipe
    tokenizer = load_tokenizer(run.tokenizer)
    check_tokenizer(tokenizer, run, checkpoint)
    model = build_model(recipe, num_ids=tokenizer.num_ids, device=torch.device("cpu"))
    load_weights(model, run, checkpoint)
    if place.type == "cuda":
        half = torch.float16 if resolve_precision("auto", place) == "fp16_mixed" else torch.bfloat16
        model = half_copy(model, half)
        model.kernel = "varlen"
    return LoadedModel(recipe, checkpoint, model.to(place).eval(), tokenizer)


def check_tokenizer(tokenizer: SentencePiece, run: RunFolder, checkpoint: Checkpoint) -> None:
    """Raises InputError where the ids mean something else than they did in training."""
    trained_with = checkpoint.fingerprints.get("tokenizer", tokenizer.fingerprint)
    if tokenizer.fingerprint != trained_with:
        raise input_error(
            f"{run.tokenizer}: not the tokenizer that the model was trained with",
            got=f"sha256 {tokenizer.fingerprint[:16]}",
            allowed=f"{trained_with[:16]}, as checkpoint {checkpoint.folder.name} says",
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
    spec: str,
    *,
    beam: int = 4,
    length_penalty: float = 1.0,
    tags: Sequence[str] = (),
    device: str | None = None,
) -> Translator:
    """A translator for `RUN`, `RUN@last` or `RUN@500`, which puts `tags` before every line as training did.

    Raises InputError for a tag that the vocabulary does not have, besides what `load_model` raises.
    """
    search = Search(beam=beam, length_penalty=length_penalty)
    return load_model(spec, device=device).translator(search=search, tags=tuple(tags))
