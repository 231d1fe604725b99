"""`trimtab shortlist`: a lexical table of a run's vocabularies from its training pairs, for a faster search on CPUs."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trimtab.checkpoint.resolve import resolve_checkpoint
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.config.corpora import ParallelFiles
from trimtab.config.given_path import RUN, path_text
from trimtab.config.load import load_recipe
from trimtab.config.paths import resolve_paths
from trimtab.config.run import Recipe
from trimtab.config.transformers_model import TransformersModel
from trimtab.data.cache import default_cache
from trimtab.data.corpus import Corpus, open_corpora
from trimtab.data.factored_pieces import pieces_alone
from trimtab.data.lexical_table import estimate_lexical_table
from trimtab.data.tokenizers import Tokenizers, load_tokenizers
from trimtab.data.transforms.apply import Dropped, Pipeline, RandomStep
from trimtab.data.transforms.plan import plan_transforms
from trimtab.decode.shortlist import Shortlist
from trimtab.errors import InputError, input_error
from trimtab.inference.shortlist_file import check_new, write_shortlist
from trimtab.types import Ragged

BEST, PAIRS = 100, 200_000
SHARE_FIRST = 1 / 16
"""Of the vocabulary, the most frequent pieces. They hardly make the shortlist of a batch longer, since its lines need
most of them: of English to German with 16,000 pieces, 1,000 in place of 100 cover 96.6% in place of 94.7% of the target
(the 50 likeliest of each piece), and 25 lines together need 3,250 in place of 3,050."""
LEAST_PROBABILITY = 1e-4
"""Translations that are less likely are left out, however few a piece has."""
MOST_HELD_OUT = 2000
"""Held-out pairs at most, and no more than a tenth of all, by which the coverage of a shortlist is measured."""
LINES_AT_ONCE = 2**14


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortlistReport:
    """A shortlist that was written."""

    file: Path
    pairs: int
    """Pairs that the table was estimated from."""
    entries: int
    """Pairs of a source piece and one of its translations."""
    always: int
    """Pieces that every batch has."""
    covered: float | None
    """Share of the target pieces of held-out pairs that the shortlist of their source has; None if there were too few
    pairs to hold any out."""
    per_line: float | None
    """Mean pieces in the shortlist of one of these lines."""
    num_ids: int
    """Size of the vocabulary."""
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON has."""
        names = ("pairs", "entries", "always", "covered", "per_line", "num_ids", "seconds")
        return {"file": str(self.file), **{name: getattr(self, name) for name in names}}

    def render(self) -> str:
        """Some lines for people."""
        said = [
            f"written: {self.file}",
            f"  {self.entries:,} translations of pieces and {self.always:,} frequent pieces, from {self.pairs:,} pairs "
            f"in {self.seconds:.0f} s",
        ]
        if self.covered is not None:
            said.append(
                f"  on held-out pairs: {self.covered:.2%} of the target's pieces are in the shortlist of their line, "
                f"which has {self.per_line:,.0f} of {self.num_ids:,} pieces"
            )
        return "\n".join(said)


def build_shortlist(
    run: Path | str,
    *,
    out: Path | str,
    first: int | None = None,
    best: int = BEST,
    pairs: int = PAIRS,
    source: Path | str | None = None,
    target: Path | str | None = None,
) -> ShortlistReport:
    """Writes the shortlist of a run that translates: the `first` most frequent target pieces, by default a sixteenth of
    the vocabulary, and for each source piece its `best` likeliest translations by IBM Model 1, estimated from at most
    `pairs` of the run's training pairs or of the lines of `source` and `target`.

    Raises InputError if the run's data are not where its recipe says, if there is no pair, if `out` exists, and for a
    pretrained model that transformers computes.
    """
    _check_counts(first=first, best=best, pairs=pairs)
    out = Path(path_text(out, name="out", allowed="a new file"))
    check_new(out)
    start = time.perf_counter()
    folder = RunFolder(resolve_checkpoint(path_text(run, name="run", allowed=RUN)).run)
    recipe = resolve_paths(load_recipe(folder.recipe))
    if isinstance(recipe.model, TransformersModel):
        raise input_error(
            f"{folder.path}: the output layer of its model cannot be cut to a shortlist",
            got="a pretrained model that transformers computes",
            allowed="a run of trimtab's own model",
            fix="translate without --shortlist",
        )
    tokenizers = load_tokenizers(folder.tokenizer)
    corpora = _corpora(recipe, source, target, name=str(folder.path))
    sources, targets = _read(corpora, recipe, tokenizers, pairs=pairs)
    if not len(sources):
        raise _no_pairs(str(folder.path), got="0 pairs that training would keep")
    held_out = min(MOST_HELD_OUT, len(sources) // 10)
    order = np.random.default_rng(1).permutation(len(sources))
    left = order[held_out:]
    shortlist = _estimated(sources.take(left), targets.take(left), tokenizers, first=first, best=best)
    write_shortlist(out, shortlist, tokenizers=tokenizers)
    covered, per_line = coverage(shortlist, sources.take(order[:held_out]), targets.take(order[:held_out]))
    return ShortlistReport(
        file=out,
        pairs=len(left),
        entries=len(shortlist.of_source.values),
        always=len(shortlist.always),
        covered=covered,
        per_line=per_line,
        num_ids=shortlist.num_ids,
        seconds=time.perf_counter() - start,
    )


def _estimated(
    source: Ragged, target: Ragged, tokenizers: Tokenizers, *, first: int | None, best: int
) -> Shortlist:
    num_ids = tokenizers.target.num_ids
    table = estimate_lexical_table(
        source, target, num_source_ids=tokenizers.source.num_ids, num_target_ids=num_ids
    )
    most = max(1, round(num_ids * SHARE_FIRST)) if first is None else first
    frequent = np.argsort(-np.bincount(target.values, minlength=num_ids), kind="stable")[:most]
    return Shortlist(
        always=np.sort(frequent),
        of_source=table.best(best, least=LEAST_PROBABILITY),
        num_ids=num_ids,
        copies=tokenizers.shared,
    )


def coverage(shortlist: Shortlist, source: Ragged, target: Ragged) -> tuple[float | None, float | None]:
    """The share of target ids that are in the shortlist of their row, and the mean size of these; None of no rows."""
    if not len(source):
        return None, None
    found = size = 0
    for row in range(len(source)):
        ids = shortlist.ids(source.row(row).astype(np.int64))
        found += int(np.isin(target.row(row), ids).sum())
        size += len(ids)
    return found / max(1, int(target.offsets[-1])), size / len(source)


def _corpora(
    recipe: Recipe, source: Path | str | None, target: Path | str | None, *, name: str
) -> list[Corpus]:
    if (source is None) != (target is None):
        raise input_error(
            "source and target: one without the other",
            got="--source alone" if target is None else "--target alone",
            allowed="both, or neither for the training pairs of the run",
            fix="name both files",
        )
    files = [each for each in recipe.data.train if each.kind.key != "text"]
    if source is not None:
        files = [ParallelFiles(source=str(source), target=str(target))]
    if not recipe.facts.writes_text or not files:
        raise _no_pairs(name, got="a run without pairs of source and target")
    return open_corpora(files, root=Path.cwd(), cache=default_cache())


def _read(
    corpora: Sequence[Corpus], recipe: Recipe, tokenizers: Tokenizers, *, pairs: int
) -> tuple[Ragged, Ragged]:
    """The ids of at most so many pairs, spread over the corpora."""
    columns = recipe.data.factor_columns
    pipeline = plan_transforms(recipe.data.transforms, corpora, cache=default_cache(), columns=columns)
    pipeline = pipeline.without(RandomStep)
    rows = [
        _rows(corpora[number], lines, pipeline.of(number), recipe.data.max_tokens, tokenizers)
        for number, lines in enumerate(_spread(corpora, pairs))
    ]
    source, target = (Ragged.joined(side) for side in zip(*rows, strict=True))
    return source, target


def _spread(corpora: Sequence[Corpus], pairs: int) -> Iterator[list[int]]:
    """At most so many lines in all, of each corpus as many as its length and weight say, evenly spread."""
    wanted = np.array([len(corpus) * corpus.weight for corpus in corpora])
    shares = wanted / wanted.sum() * min(pairs, sum(map(len, corpora)))
    for corpus, share in zip(corpora, shares, strict=True):
        count = min(len(corpus), max(1, round(share)))
        yield np.linspace(0, len(corpus) - 1, count).astype(np.int64).tolist()


def _rows(
    corpus: Corpus, lines: Sequence[int], pipeline: Pipeline, max_tokens: int, tokenizers: Tokenizers
) -> tuple[Ragged, Ragged]:
    """The ids of both sides, as in training but for what is random in it; what it drops is left out."""
    sides: list[tuple[Ragged, Ragged]] = []
    for start in range(0, len(lines), LINES_AT_ONCE):
        block = lines[start : start + LINES_AT_ONCE]
        read = zip(block, corpus.several(block), strict=True)
        kept = [
            found for line, pair in read if not isinstance(found := pipeline.apply(*pair, line=line), Dropped)
        ]
        source = Ragged.of(tokenizers.source.encode_with_tags([pair[0] for pair in kept], corpus.tags))
        source = pieces_alone(source, tokenizers.source.num_ids)
        target = Ragged.of(tokenizers.target.encode([pair[1] for pair in kept]))
        fits = np.flatnonzero(np.maximum(source.lengths, target.lengths) <= max_tokens)
        sides.append((source.take(fits), target.take(fits)))
    return Ragged.joined([side[0] for side in sides]), Ragged.joined([side[1] for side in sides])


def _check_counts(**counts: int | None) -> None:
    for name, count in counts.items():
        if count is not None and count < 1:
            raise input_error(
                f"{name}: out of range",
                got=str(count),
                allowed="1 or more",
                fix="leave it out for the default",
            )


def _no_pairs(name: str, *, got: str) -> InputError:
    return input_error(
        f"{name}: there are no pairs to make a shortlist from",
        got=got,
        allowed="a run that was trained on source and target",
        fix="name pairs with --source FILE --target FILE",
    )
