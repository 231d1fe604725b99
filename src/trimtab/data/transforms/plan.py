"""The transforms of a recipe over its opened corpora: what is done to a pair may depend on the corpus and the line."""

import hashlib
import json
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, UInt64

from trimtab.config.context import ContextTransform
from trimtab.config.corpus_filters import CopyFilter, DuplicateFilter, LanguageFilter
from trimtab.config.transforms import DenoiseTransform, Transform
from trimtab.data.cache import committed, writable_folder
from trimtab.data.scan import loose
from trimtab.data.transforms.apply import (
    Dropped,
    FilterStep,
    LineStep,
    Pipeline,
    Step,
    build_step,
    build_transforms,
)
from trimtab.data.transforms.languages import identifies_by, is_in_another_language, languages_of
from trimtab.data.transforms.line_set import LineSet

_LAYOUT = "trimtab duplicates 1"
"""Part of every key; another way to find them needs another word here."""
_REVERSED = " reversed"


@runtime_checkable
class FiltersCorpus(Protocol):
    """A corpus, as far as it matters here."""

    @property
    def name(self) -> str:
        """As the recipe calls it, with a word behind it where it is read from target to source."""
        ...

    @property
    def tags(self) -> Sequence[str]:
        """Put before each source."""
        ...

    @property
    def fingerprint(self) -> str:
        """Of what it holds and how it is read."""
        ...

    @property
    def is_reversed(self) -> bool:
        """Whether it is read from target to source."""
        ...

    @property
    def is_monolingual(self) -> bool:
        """Whether each line is both source and target."""
        ...

    def __len__(self) -> int: ...

    def several(self, lines: Sequence[int]) -> Iterator[tuple[str, str]]:
        """The pairs of these lines."""
        ...


Read = Callable[[FiltersCorpus], Iterator[tuple[int, tuple[str, str]]]]
"""The pairs of a corpus with their lines, in their order."""


def every_line(corpus: FiltersCorpus) -> Iterator[tuple[int, tuple[str, str]]]:
    """All lines of a corpus; the InputError of one that cannot be read comes when it is its turn."""
    return enumerate(corpus.several(range(len(corpus))))


def plan_transforms(
    configs: Sequence[Transform],
    corpora: Sequence[FiltersCorpus],
    *,
    cache: Path,
    report: Callable[[str], None] = lambda text: None,
    read: Read = every_line,
    columns: int = 0,
) -> Pipeline:
    """The pipeline of the transforms in their order, with one of its own for each corpus where that matters; `columns`
    source factors are written behind each source word.

    Duplicates are found now, among the pairs as the transforms before leave them: `read` gives every line once, and
    what is found is kept in `cache`; `report` gets a line about it. Raises InputError for a line that cannot be read,
    and where a filter needs a library that is not installed.
    """
    whole = build_transforms(configs, columns=columns)
    if not any(isinstance(each, DuplicateFilter | CopyFilter | LanguageFilter) for each in configs):
        return whole
    steps: list[list[Step]] = [[] for _ in corpora]
    fingerprints: dict[str, str] = {}
    for place, config in enumerate(configs):
        match config:
            case DenoiseTransform() | ContextTransform():
                continue
            case DuplicateFilter():
                path = cache / f"{_key(configs[: place + 1], corpora, fingerprints)}.npy"
                found = _stored(path, corpora)
                if found is None:
                    report(f"looking for duplicates among {sum(map(len, corpora)):,} pairs")
                    found = _repeated(
                        config, corpora, [Pipeline(tuple(each), columns=columns) for each in steps], read
                    )
                    _store(found, path)
                for each, lines in zip(steps, found, strict=True):
                    each.append(LineStep(config.kind, lines))
            case LanguageFilter():
                languages = languages_of(config)
                fingerprints["languages are told apart by"] = identifies_by()
                for each, corpus in zip(steps, corpora, strict=True):
                    if _is_judged(config, corpus):
                        each.append(_language_step(config, languages, corpus))
            case CopyFilter():
                for each, corpus in zip(steps, corpora, strict=True):
                    each.extend([] if corpus.is_monolingual else [build_step(config)])
            case _:
                for each in steps:
                    each.append(build_step(config))
    by_corpus = tuple(Pipeline(tuple(each), columns=columns) for each in steps)
    return Pipeline(whole.steps, by_corpus, fingerprints, columns)


def _is_judged(config: LanguageFilter, corpus: FiltersCorpus) -> bool:
    name = corpus.name.removesuffix(_REVERSED) if corpus.is_reversed else corpus.name
    return name in config.only if config.only else not corpus.is_monolingual


def _language_step(
    config: LanguageFilter, languages: tuple[frozenset[str], frozenset[str]], corpus: FiltersCorpus
) -> Step:
    both = languages[::-1] if corpus.is_reversed else languages
    if corpus.is_monolingual:  # one text on both sides, which may be in either language
        both = (both[0] | both[1], frozenset[str]())
    found = partial(
        is_in_another_language,
        languages=both,
        certainty=config.certainty,
        min_characters=config.min_characters,
    )
    return FilterStep(config.kind, found)


def _repeated(
    config: DuplicateFilter, corpora: Sequence[FiltersCorpus], pipelines: Sequence[Pipeline], read: Read
) -> list[LineSet]:
    """The lines of each corpus that repeat an earlier one, as the transforms before leave them."""
    starts = [0, *accumulate(map(len, corpora))]
    keys, counted = np.zeros(starts[-1], np.uint64), np.zeros(starts[-1], bool)
    for start, corpus, pipeline in zip(starts, corpora, pipelines, strict=False):
        for line, pair in read(corpus):
            outcome = pipeline.apply(*pair, line=line)
            if not isinstance(outcome, Dropped):
                keys[start + line] = key_of(*outcome, tags=corpus.tags, config=config)
                counted[start + line] = True
    repeated = find_repeated(keys, counted)
    return [LineSet.of(repeated[start:stop]) for start, stop in pairwise(starts)]


def _key(
    configs: Sequence[Transform], corpora: Sequence[FiltersCorpus], fingerprints: Mapping[str, str]
) -> str:
    """The name under which duplicates are kept: what they follow from."""
    read = [
        [corpus.fingerprint, corpus.name, list(corpus.tags), corpus.is_reversed, corpus.is_monolingual]
        for corpus in corpora
    ]
    done = [config.model_dump(mode="json") for config in configs]
    what = [_LAYOUT, unicodedata.unidata_version, read, done, dict(fingerprints)]
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()


def _store(found: Sequence[LineSet], path: Path) -> None:
    with committed(writable_folder(path.parent) / path.name, follows_from_name=True) as file:
        np.save(
            file, np.concatenate([np.zeros(0, np.uint8), *(each.bits for each in found)]), allow_pickle=False
        )


def _stored(path: Path, corpora: Sequence[FiltersCorpus]) -> list[LineSet] | None:
    """What was kept, None if there is nothing, or something else."""
    try:
        bits = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    sizes = [(len(corpus) + 7) // 8 for corpus in corpora]
    if bits.dtype != np.uint8 or bits.shape != (sum(sizes),):
        return None
    return [LineSet(part) for part in np.split(bits, np.cumsum(sizes)[:-1])] if sizes else []


def key_of(source: str, target: str, *, tags: Sequence[str], config: DuplicateFilter) -> int:
    """64 bits of what two pairs must have in common to be the same; with other tags they never are."""
    if not config.exact:
        source, target = loose(source), loose(target)
    sides = {"pair": (source, target), "source": (source,), "target": (target,)}[config.by]
    # Lengths first, so that no two lists of texts are written alike.
    lengths = " ".join(str(len(text)) for text in (*tags, *sides))
    text = f"{len(tags)} {lengths}\n{''.join(tags)}{''.join(sides)}"
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(digest.digest(), "little")


def find_repeated(
    keys: UInt64[np.ndarray, "lines"], counted: Bool[np.ndarray, "lines"]
) -> Bool[np.ndarray, "lines"]:
    """The lines whose key an earlier line has; lines that are not counted are neither. Takes some 30 bytes a line."""
    order = np.argsort(keys, kind="stable")  # so equal ones stay in their order
    order = order[counted[order]]
    ordered = keys[order]
    repeated = np.zeros(len(keys), bool)
    repeated[order[1:][ordered[1:] == ordered[:-1]]] = True
    return repeated
