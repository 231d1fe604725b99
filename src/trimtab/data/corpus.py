"""A corpus: pairs of strings by number, read in place from two aligned files, a TSV or a JSONL file."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any, assert_never

from trimtab.config.corpora import ParallelFiles, TrainCorpus, ValidFiles
from trimtab.data.formats import jsonl, po, table, tmx, tsv, xliff
from trimtab.data.formats.aligned import AlignedPairs, open_aligned
from trimtab.data.formats.chat import Conversation
from trimtab.data.formats.conversations import Conversations, open_conversations
from trimtab.data.formats.documents import DocumentPairs, open_documents
from trimtab.data.formats.factored import FactoredPairs, open_factored, open_written
from trimtab.data.formats.json_line import is_document_object
from trimtab.data.formats.jsonl_passages import open_jsonl_passages
from trimtab.data.formats.not_text import refuse_what_is_no_text
from trimtab.data.formats.pairs import PairFile, Pairs
from trimtab.data.formats.passage import Passage
from trimtab.data.formats.passages import Passages
from trimtab.data.formats.reversed import ReversedPairs
from trimtab.data.formats.text_passages import holds_jsonl, open_text_passages
from trimtab.data.source_factors import without_factors
from trimtab.data.word_alignments import WordAlignments, open_alignments
from trimtab.errors import InputError, Problem, input_error

_MOST_PROBLEMS = 10
MOST_BYTES = 2**24
"""A line of more is never read: it is longer than any limit on tokens allows, and one of a gigabyte would not fit."""
_LINES_AT_ONCE = 2**16
"""Of many lines, the places of so many are looked up at a time."""

PAIR_FILES = (jsonl.FORMAT, table.PARQUET, tmx.FORMAT, xliff.FORMAT, po.FORMAT)
"""The formats of one file that holds both sides, by what its name ends with; a file of any other name is a TSV. A new
format is a file in `formats/` and a word here."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """Pairs of strings, numbered from 0. Holds no text, only maps of files; may be pickled."""

    name: str
    pairs: Pairs
    tags: tuple[str, ...] = ()
    weight: float = 1.0
    alignments: WordAlignments | None = None
    learns_answers: bool = False
    """Whether its documents are conversations, of which what the assistant says counts alone."""

    @property
    def fingerprint(self) -> str:
        """sha256 of what the corpus holds and how it is read; names, tags and weights do not count."""
        if self.alignments is None:
            return self.pairs.fingerprint
        both = f"{self.pairs.fingerprint} {self.alignments.fingerprint}"
        return hashlib.sha256(both.encode()).hexdigest()

    @property
    def is_reversed(self) -> bool:
        """Whether it is another corpus read from target to source."""
        return isinstance(self.pairs, ReversedPairs)

    @property
    def is_monolingual(self) -> bool:
        """Whether each line of one file is both source and target."""
        pairs = self.pairs
        return isinstance(pairs, AlignedPairs) and pairs.source.path == pairs.target.path

    @property
    def has_documents(self) -> bool:
        """Whether it is text in documents, of which each line is a passage."""
        return isinstance(self.pairs, Passages)

    @property
    def empty_documents(self) -> list[int]:
        """The lines, from 0, of documents without a text, which nothing is learned from; none where there are pairs."""
        return self.pairs.empty_documents

    @property
    def broken_documents(self) -> list[tuple[int, Problem]]:
        """The lines, from 1, of documents that cannot be read, with what is wrong with each; none of its pairs is
        theirs."""
        return self.pairs.broken_documents

    @property
    def passed_over(self) -> dict[str, int]:
        """Units of its file that are no pairs, such as those without a translation, by reason; each counted once."""
        return {reason: count for reason, count in self.pairs.passed_over.items() if count}

    def __len__(self) -> int:
        return len(self.pairs)

    def passage(self, line: int) -> Passage:
        """A passage of a corpus that has documents; InputError if it cannot be read."""
        assert isinstance(self.pairs, Passages), "a corpus of pairs"
        return self.pairs.passage(line)

    def conversation(self, line: int) -> Conversation:
        """That of a line of a corpus that has conversations; InputError if it cannot be read."""
        assert isinstance(self.pairs, Passages), "a corpus of pairs"
        conversations, place = self.pairs.documents, self.pairs.places[line]
        assert isinstance(conversations, Conversations), "documents that are no conversations"
        return conversations.conversation(conversations.line_of(place))

    def pair(self, line: int) -> tuple[str, str]:
        """Source and target of a line, both empty if it has more than `MOST_BYTES`.

        InputError with file, line (from 1) and place where it is malformed.
        """
        return ("", "") if self.num_bytes(line) > MOST_BYTES else self.pairs.pair(line)

    def several(self, lines: Sequence[int]) -> Iterator[tuple[str, str]]:
        """What `pair` gives for each of these lines, in their order: many are read at a time where the format allows.

        The InputError of a malformed line comes when it is its turn.
        """
        left_out = set(self.longer_than(MOST_BYTES))
        for first in range(0, len(lines), _LINES_AT_ONCE):
            part = lines[first : first + _LINES_AT_ONCE]
            if left_out.isdisjoint(part):
                yield from self.pairs.several(part)
            else:
                read = self.pairs.several([line for line in part if line not in left_out])
                yield from (("", "") if line in left_out else next(read) for line in part)

    def num_bytes(self, line: int) -> int:
        """Bytes that must be read for a line, of its longer side where they have files of their own; 0 where only
        reading shows it."""
        return self.pairs.num_bytes(line)

    def longer_than(self, num_bytes: int) -> list[int]:
        """The lines, from 0, of which more bytes must be read; nothing of them is."""
        return self.pairs.longer_than(num_bytes).tolist()

    def before(self, line: int, count: int) -> list[tuple[str, str]]:
        """At most `count` pairs before a line in its document, in their order; none where there are no documents."""
        return self.pairs.before(line, count)

    def place(self, line: int) -> str:
        """See `Pairs`."""
        return self.pairs.place(line)

    def line_number(self, line: int) -> int:
        """The line of a pair in its file, counted from 1 and with the header, as an editor shows it; its row, where the
        file has no lines."""
        number = self.place(line).rpartition(":")[2]
        return int(number) if number.isdecimal() else line + 1

    @property
    def factor_columns(self) -> int:
        """How many source factors are written behind each of its source words."""
        return self.pairs.num_factors if isinstance(self.pairs, FactoredPairs) else 0

    def is_copy(self, source: str, target: str) -> bool:
        """Whether the target of a pair is its source, word for word where factors follow the words."""
        if not self.factor_columns:
            return source == target
        return without_factors(source, self.factor_columns).split() == target.split()

    def raw_text(self, line: int) -> str:
        """A line of the file as it is, both sides with a tab between them where each has a file, and bytes that are no
        UTF-8 as Python writes them; empty where the format has no lines."""
        return self.pairs.raw(line).decode("utf-8", errors="backslashreplace")

    def check(self, limit: int = 1000) -> None:
        """Reads the first `limit` lines and as many spread over the rest, the last one too.

        InputError holds what is wrong with them, ten problems at most.
        """
        problems: list[Problem] = []
        for line in _sample(len(self), limit):
            try:
                pair = self.pair(line)
                if self.alignments is not None:
                    self.alignments.check(line, pair)
            except InputError as error:
                problems.extend(error.problems)
            if len(problems) >= _MOST_PROBLEMS:
                break
        if problems:
            raise InputError(*problems)


def open_corpus(
    config: ParallelFiles | TrainCorpus | ValidFiles,
    *,
    root: Path,
    cache: Path,
    passage_bytes: int | None = None,
    has_name: bool = True,
    keep_broken: bool = False,
) -> Corpus:
    """The corpus that a recipe names; relative paths start from `root`. InputError if it is empty, and for documents
    that cannot be read; with `keep_broken` these are what `Corpus.broken_documents` gives.

    With `passage_bytes` a `text` holds documents, which are cut in passages of at most so many bytes; otherwise each of
    its lines is both sides of a pair. Its name says whether it is JSONL; of a pipe, its content does.
    """
    files = [_place(path, root) for path in dict.fromkeys(config.paths.values())]
    has_documents = passage_bytes is not None and config.kind.key == "text"
    answers = has_documents and isinstance(config, TrainCorpus | ValidFiles) and config.learn == "answers"
    if answers:
        pairs: Pairs = open_conversations(files[0], cache=cache)
    elif passage_bytes is not None and has_documents:
        pairs = _open_passages(files[0], most=passage_bytes, cache=cache, has_name=has_name)
    else:
        pairs = _open_pairs(config, files, cache=cache)
    if isinstance(pairs, DocumentPairs) and not (keep_broken and len(pairs)):
        pairs.refuse_broken()
    if len(pairs) == 0:
        is_text = config.kind.key == "text"
        raise input_error(
            f"{files[0]}: the corpus is empty",
            got="no document" if is_text else "0 pairs",
            allowed="at least 1 document" if is_text else "at least 1 pair",
            fix="check that this is the right file, or leave the corpus out",
        )
    if config.factors:
        beside = {name: _place(path, root) for name, path in config.factors.items()}
        pairs = open_factored(pairs, beside, cache=cache)
    elif config.factor_separator is not None:
        pairs = open_written(pairs, config.factor_separator)
    weight = config.weight if isinstance(config, TrainCorpus) else 1.0
    name = config.name or _default_name(next(iter(config.paths.values())))
    alignments = _alignments(config, root=root, num_pairs=len(pairs), cache=cache)
    return Corpus(name, pairs, config.tags, weight, alignments, learns_answers=answers)


def _alignments(config: ParallelFiles, *, root: Path, num_pairs: int, cache: Path) -> WordAlignments | None:
    path = config.files_beside.get("alignments")
    return None if path is None else open_alignments(_place(path, root), num_pairs=num_pairs, cache=cache)


def open_corpora(
    configs: Sequence[ParallelFiles | TrainCorpus],
    *,
    root: Path,
    cache: Path,
    keys: Sequence[str] = (),
    passage_bytes: int | None = None,
    keep_broken: bool = False,
) -> list[Corpus]:
    """All corpora, in order, one of both directions followed by its reverse.

    Where names are the same, later ones are numbered: `train`, `train-2`.

    InputError holds the problems of all that cannot be opened, each after its key of the recipe where there are `keys`.
    """
    corpora: list[Corpus] = []
    problems: list[Problem] = []
    for number, config in enumerate(configs):
        try:
            corpus = open_corpus(
                config, root=root, cache=cache, passage_bytes=passage_bytes, keep_broken=keep_broken
            )
            corpora.append(corpus)
            if isinstance(config, TrainCorpus) and config.both_directions:
                corpora.append(reverse(corpus, tags=config.reverse_tags))
        except InputError as error:
            key = f"{keys[number]}: " if keys else ""
            problems.extend(replace(problem, what=key + problem.what) for problem in error.problems)
    if problems:
        raise InputError(*problems)
    names = _unique([corpus.name for corpus in corpora])
    return [replace(corpus, name=name) for corpus, name in zip(corpora, names, strict=True)]


def reverse(corpus: Corpus, *, tags: tuple[str, ...]) -> Corpus:
    """The corpus read from target to source, on the same files and the same index."""
    assert not isinstance(corpus.pairs, ReversedPairs)
    turned = None if corpus.alignments is None else corpus.alignments.reversed()
    return Corpus(f"{corpus.name} reversed", ReversedPairs(corpus.pairs), tags, corpus.weight, turned)


def _open_passages(path: Path, *, most: int, cache: Path, has_name: bool) -> Passages:
    if _is_jsonl(path):
        return open_jsonl_passages(path, most=most, cache=cache)
    text = open_text_passages(path, most=most, cache=cache)
    if not holds_jsonl(text):
        suffix = _bare(path).suffix.lower() if has_name else ""
        refuse_what_is_no_text(text.documents.lines, path, suffix=suffix)
        return text
    if not has_name:
        return open_jsonl_passages(path, most=most, cache=cache)
    raise input_error(
        f"{path}: contains JSON, but its name says plain text",
        got="a JSON object with a `text` as the first line",
        allowed="documents of plain text, or JSONL by the name of .jsonl or .ndjson (also .gz, .xz, .zst)",
        fix=f"call it {_bare(path).stem}.jsonl; JSON that is itself the text goes into the field `text` of such a file",
    )


def _open_pairs(config: ParallelFiles, files: Sequence[Path], *, cache: Path) -> Pairs:
    first = files[0]
    columns: dict[str, Any] = {"source": config.source, "target": config.target, "cache": cache}
    match config.kind.key:
        case "documents":
            return open_documents(first, **columns)
        case "dataset":
            return table.open_dataset(first, split=config.split, **columns)
        case "pairs":
            return _open_pair_file(first, columns, states=config.states)
        case "source" | "text":
            pairs = open_aligned(first, files[-1], cache=cache)
        case _:
            assert_never(config.kind.key)
    if config.kind.key == "text" and len(pairs) and is_document_object(pairs.source, 0):
        raise input_error(
            f"{first}: contains JSON, and each of its lines would count as a sentence",
            got="a JSON object with a `text` as the first line",
            allowed="plain text, a sentence a line",
            fix="write the sentences themselves, one a line, into a file of their own",
        )
    return pairs


def _open_pair_file(path: Path, columns: dict[str, Any], *, states: tuple[str, ...]) -> Pairs:
    found = _pair_file(path)
    if found.has_states:
        return found.open(path, **columns, states=states)
    if states:
        named = [suffix for each in PAIR_FILES if each.has_states for suffix in each.suffixes]
        raise input_error(
            f"states: given, but the pairs of {path} have none",
            got=", ".join(states),
            allowed=f"states with a file of {', '.join(named)}",
            fix="leave `states` out",
        )
    return found.open(path, **columns)


def _pair_file(path: Path) -> PairFile:
    for each in PAIR_FILES:
        if (_bare(path) if each.is_compressed else path).suffix in each.suffixes:
            return each
    return tsv.FORMAT


def _is_jsonl(path: Path) -> bool:
    return _bare(path).suffix in jsonl.FORMAT.suffixes


def _place(path: str, root: Path) -> Path:
    return root / Path(path).expanduser()


def _bare(path: PurePath) -> PurePath:
    """The path without the suffix of a compression."""
    return path.with_suffix("") if path.suffix.lower() in (".gz", ".xz", ".zst", ".zstd") else path


def _default_name(path: str) -> str:
    """`corpora/prose/train.en.xz` is `prose/train`: the folder as written, the file without language and packing."""
    bare = _bare(PurePath(path))
    folder = bare.parent.name
    return f"{folder}/{bare.stem}" if folder not in ("", "..", "~") else bare.stem


def _unique(names: list[str]) -> list[str]:
    taken, seen = set(names), Counter[str]()
    unique: list[str] = []
    for name in names:
        seen[name] += 1
        new = name
        while seen[name] > 1 and new in taken:
            new = f"{name}-{seen[name]}"
            seen[name] += new in taken
        taken.add(new)
        unique.append(new)
    return unique


def _sample(num_lines: int, limit: int) -> list[int]:
    first = min(limit, num_lines)
    rest = num_lines - first
    spread = min(limit, rest)
    # The last line is among them: a file that was cut short shows it there.
    return [*range(first), *(first + (number + 1) * rest // spread - 1 for number in range(spread))]
