"""The real text on which an export is compared: from the validation sets of the run, then from its corpora."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from trimtab.config.corpora import ParallelFiles, TrainCorpus, ValidFiles
from trimtab.data.cache import default_cache
from trimtab.data.corpus import Corpus, open_corpora
from trimtab.data.exact_text import ExactText
from trimtab.data.fast_tokenizer import FastTokenizer
from trimtab.data.formats.passage import cuts
from trimtab.data.tokenizers import Tokenizers
from trimtab.data.transforms.apply import build_transforms
from trimtab.errors import InputError, Problem
from trimtab.export.target import Trained
from trimtab.types import Tokenizer

SAMPLES = 200
LONGEST_BYTES = 400
"""Of a text: long enough to see that positions and newlines are right, and short enough for a CPU."""
TAKEN_FOR_SPACES = "▁"
"""The sign that sentencepiece writes for a space; only trimtab spells one that occurs in a text in bytes."""
NONE_READ = "none that can be read, in the validation sets and corpora of the run or what was given"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateLine:
    """A pair of lines with its ids."""

    source: str
    tags: tuple[str, ...]
    source_ids: list[int]
    """Tags and end symbol included."""
    target_ids: list[int]
    """End symbol included."""
    origin: str = ""
    """Where it comes from, for the model card: `validation set dev`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateText:
    """A text with its ids."""

    text: str
    ids: list[int]
    """Without start and end symbol; with the start symbol no more than the model reads."""
    origin: str = ""
    """Where it comes from, for the model card: `validation set dev`."""


Sample = TypeVar("Sample", GateLine, GateText)


def origins(samples: Sequence[GateLine] | Sequence[GateText]) -> str:
    """How many samples came from where: `36 of validation set dev, 164 of training corpus train`."""
    counts = Counter(sample.origin for sample in samples)
    return ", ".join(f"{count} of {origin}" for origin, count in counts.items())


def gate_lines(
    trained: Trained, given: ParallelFiles | None = None, *, count: int = SAMPLES
) -> list[GateLine]:
    """At most `count` pairs that the model can read, evenly from all validation sets and then, where these are short,
    from all corpora; always the same ones.

    Left out are lines that begin with a language code of MarianMT or contain a special symbol of the vocabulary, which
    tokenizers of libraries take for the symbol itself. Raises InputError if no pair is found.
    """
    nothing = Problem(
        what="export: no pair of lines to compare the export on",
        got=NONE_READ,
        allowed=f"pairs of at most {trained.recipe.data.max_tokens} tokens a side",
        fix="name other text with --source FILE --reference FILE",
    )

    def take(corpus: Corpus, share: int) -> Iterator[GateLine]:
        return _lines(corpus, trained, share)

    return _collected(trained, given, take, count=count, nothing=nothing)


def gate_texts(trained: Trained, given: Path | str | None = None, *, count: int = SAMPLES) -> list[GateText]:
    """At most `count` texts, evenly from the file that is given, or from all validation sets and then, where these are
    short, from all corpora; always the same ones.

    Raises InputError if none is found.
    """
    nothing = Problem(
        what="export: no text to compare the export on",
        got=NONE_READ,
        allowed="documents, as those of training",
        fix="name other text with --source FILE",
    )
    files = None if given is None else ValidFiles.model_validate({"text": str(given)})

    def take(corpus: Corpus, share: int) -> Iterator[GateText]:
        return _texts(corpus, trained, share)

    return _collected(trained, files, take, count=count, nothing=nothing, passage_bytes=LONGEST_BYTES)


def _collected(
    trained: Trained,
    given: ParallelFiles | None,
    take: Callable[[Corpus, int], Iterator[Sample]],
    *,
    count: int,
    nothing: Problem,
    passage_bytes: int | None = None,
) -> list[Sample]:
    """What `take` finds in each corpus for its share, with where it comes from."""
    found: list[Sample] = []
    unread: list[Problem] = []
    for kind, files in _sets(trained, given):
        try:
            corpora = open_corpora(files, root=Path.cwd(), cache=default_cache(), passage_bytes=passage_bytes)
        except InputError as error:
            unread += error.problems
            continue
        for place, corpus in enumerate(corpora):
            share = (count - len(found)) // (len(corpora) - place)
            found += [replace(each, origin=f"{kind} {corpus.name}") for each in take(corpus, share)]
        if len(found) >= count:
            break
    if not found:
        raise InputError(*unread, nothing)
    return found


def _sets(
    trained: Trained, given: ParallelFiles | None
) -> list[tuple[str, Sequence[ParallelFiles | TrainCorpus]]]:
    data = trained.recipe.data
    if given is not None:
        return [("given text", [given])]
    return [("validation set", list(data.valid.values())), ("training corpus", data.train)]


def _lines(corpus: Corpus, trained: Trained, share: int) -> Iterator[GateLine]:
    """As many lines as are wanted, spread over the corpus; more are looked at where some cannot be taken."""
    size, taken = len(corpus), 0
    wanted = min(size, 4 * share)
    places = [number * size // wanted for number in range(wanted)]
    step = max(1, len(places) // max(1, share))
    for place in (places[start] for first in range(step) for start in range(first, len(places), step)):
        if taken == share:
            return
        if (line := _line(*corpus.pair(place), corpus.tags, trained)) is not None:
            taken += 1
            yield line


def _line(source: str, target: str, tags: tuple[str, ...], trained: Trained) -> GateLine | None:
    """The pair as the model reads it, after the transforms that trimtab applies to the lines of an export."""
    pipeline = build_transforms(trained.recipe.data.transforms)
    source, target = pipeline.apply_source(source), pipeline.apply_reference(source, target)
    if not (source.strip() and target.strip()) or _is_taken(source, trained.tokenizers):
        return None
    ids = trained.tokenizers.source.encode_with_tags([source], tags)[0]
    target_ids = trained.tokenizers.target.encode([target])[0]
    longest = trained.recipe.data.max_tokens
    if len(ids) <= len(tags) + 1 or max(len(ids), len(target_ids)) > longest:
        return None
    return GateLine(source=source, tags=tags, source_ids=ids, target_ids=target_ids)


def _is_taken(source: str, tokenizers: Tokenizers) -> bool:
    """Whether a tokenizer of transformers would take something in a text for a symbol."""
    own = tokenizers.source
    special = [own.piece(id) for id in (own.pad, own.unknown, own.start, own.end)]
    return (source.startswith(">>") and "<<" in source) or any(
        each in source for each in (*filter(None, special), *own.symbols)
    )


def _texts(corpus: Corpus, trained: Trained, share: int) -> Iterator[GateText]:
    """As many texts as are wanted, spread over the corpus."""
    wanted = min(len(corpus), share)
    tokenizer, most = ExactText(trained.tokenizer), trained.recipe.data.max_tokens - 1
    for number in range(wanted):
        text = between_symbols(_text(corpus, number * len(corpus) // wanted), trained.tokenizer)
        if not text.strip() or TAKEN_FOR_SPACES in text:
            continue
        ids = tokenizer.ids([text])[0]
        while len(ids) > most and len(text) > 1:
            text = text[: len(text) // 2]
            ids = tokenizer.ids([text])[0]
        if 0 < len(ids) <= most:
            yield GateText(text=text, ids=ids)


def between_symbols(text: str, tokenizer: Tokenizer) -> str:
    """The longest part of a text in which no special symbol is spelled: libraries take the spelling for the symbol,
    and a chat has symbols around each turn."""
    if not isinstance(tokenizer, FastTokenizer):
        return text
    spelled = [re.escape(piece) for id in sorted(tokenizer.special_ids) if (piece := tokenizer.piece(id))]
    return max(re.split("|".join(spelled), text), key=len) if spelled else text


def _text(corpus: Corpus, number: int) -> str:
    """A passage; or the target of a pair, as much of it as a passage would have."""
    if corpus.has_documents:
        return corpus.passage(number).text
    data = corpus.pair(number)[1].encode()
    start, stop = next(cuts(data, most=LONGEST_BYTES))
    return data[start:stop].decode()
