"""The real lines on which an export is compared: from the validation sets of the run, then from its corpora."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trimtab.config.corpora import ParallelFiles, TrainCorpus
from trimtab.data.cache import default_cache
from trimtab.data.corpus import Corpus, open_corpora
from trimtab.data.tokenizers import Tokenizers
from trimtab.errors import InputError, Problem
from trimtab.translator import LoadedModel

LINES = 200


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
    """Where it stands, for the model card: `validation set dev`."""


def origins(lines: Sequence[GateLine]) -> str:
    """How many lines came from where: `36 of validation set dev, 164 of training corpus train`."""
    counts = Counter(line.origin for line in lines)
    return ", ".join(f"{count} of {origin}" for origin, count in counts.items())


def gate_lines(
    model: LoadedModel, given: ParallelFiles | None = None, *, count: int = LINES
) -> list[GateLine]:
    """At most `count` pairs that the model can read, evenly from all validation sets and then, where these are short,
    from all corpora; always the same ones.

    Left out are lines that begin with a language code of MarianMT or have a special symbol of the vocabulary in them,
    which tokenizers of libraries take for the symbol itself. Raises InputError where no pair is found.
    """
    found: list[GateLine] = []
    unread: list[Problem] = []
    for kind, files in _sets(model, given):
        try:
            corpora = open_corpora(files, root=Path.cwd(), cache=default_cache())
        except InputError as error:
            unread += error.problems
            continue
        for place, corpus in enumerate(corpora):
            lines = _of(corpus, model, (count - len(found)) // (len(corpora) - place))
            found += [replace(line, origin=f"{kind} {corpus.name}") for line in lines]
        if len(found) >= count:
            break
    if not found:
        raise InputError(*unread, _nothing(model))
    return found


def _sets(
    model: LoadedModel, given: ParallelFiles | None
) -> list[tuple[str, Sequence[ParallelFiles | TrainCorpus]]]:
    data = model.recipe.data
    if given is not None:
        return [("given text", [given])]
    return [("validation set", list(data.valid.values())), ("training corpus", data.train)]


def _nothing(model: LoadedModel) -> Problem:
    return Problem(
        what="export: no pair of lines to compare the export on",
        got="none that can be read, in the validation sets and corpora of the run or what was given",
        allowed=f"pairs of at most {model.recipe.data.max_tokens} tokens a side",
        fix="name other text by --source FILE --reference FILE",
    )


def _of(corpus: Corpus, model: LoadedModel, share: int) -> Iterator[GateLine]:
    """As many lines as are wanted, spread over the corpus; more are looked at where some cannot be taken."""
    size, taken = len(corpus), 0
    wanted = min(size, 4 * share)
    places = [number * size // wanted for number in range(wanted)]
    step = max(1, len(places) // max(1, share))
    for place in (places[start] for first in range(step) for start in range(first, len(places), step)):
        if taken == share:
            return
        if (line := _line(*corpus.pair(place), corpus.tags, model)) is not None:
            taken += 1
            yield line


def _line(source: str, target: str, tags: tuple[str, ...], model: LoadedModel) -> GateLine | None:
    if not (source.strip() and target.strip()) or _is_taken(source, model.tokenizers):
        return None
    ids = model.tokenizers.source.encode_with_tags([source], tags)[0]
    target_ids = model.tokenizers.target.encode([target])[0]
    longest = model.recipe.data.max_tokens
    if len(ids) <= len(tags) + 1 or max(len(ids), len(target_ids)) > longest:
        return None
    return GateLine(source=source, tags=tags, source_ids=ids, target_ids=target_ids)


def _is_taken(source: str, tokenizers: Tokenizers) -> bool:
    """Whether a tokenizer of transformers would take something in a text for a symbol."""
    own = tokenizers.source
    special = [own.piece(id) for id in (own.pad, own.unknown, own.start, own.end)]
    return (source.startswith(">>") and "<<" in source) or any(
        each in source for each in (*special, *own.symbols)
    )
