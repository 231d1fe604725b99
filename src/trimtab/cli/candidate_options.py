"""The options of `translate` that choose among several translations of each line: MBR and reranking."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from trimtab.cli.numbers import Range, number_option
from trimtab.cli.sampling_options import sampling_of
from trimtab.cli.search_options import refuse_together
from trimtab.errors import InputError, input_error

if TYPE_CHECKING:
    from trimtab.decode.mbr import Mbr
    from trimtab.decode.reading import BinaryLines
    from trimtab.decode.sampling import Sampling
    from trimtab.decode.search import Search
    from trimtab.evaluation.reranking import Reranker
    from trimtab.inference.translator import Prefixes, TextOutput, Translator

MbrUtility = Annotated[
    Literal["chrf", "bleu"] | None,
    typer.Option(
        "--mbr",
        help="Choose the translation most similar to all candidates of its line (minimum Bayes risk): samples with "
        "--epsilon 0.02, or as --sample says, or the best of --beam N. Example: --mbr chrf --candidates 64",
    ),
]
Candidates = Annotated[
    int | None,
    number_option(
        "--candidates",
        Range(least=2, most=64),
        help="How many translations of each line --mbr and --rerank choose among.",
        fix="32 is usual for --mbr",
        show_default="32 samples, or all of the beam",
    ),
]
Rerank = Annotated[
    list[str] | None,
    typer.Option(
        "--rerank",
        metavar="reverse=RUN:W|lm=RUN:W|length=W",
        help="Rerank the candidates: add W times the mean log-probability of the source by a model of the other "
        "direction, or of the candidate by a language model, or W times its relative length; "
        "repeatable. Example: --beam 16 --rerank reverse=runs/de_en:0.5",
    ),
]
ReverseTag = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TAG", help="Symbol to put before every line that a reverse model reads; repeatable."
    ),
]
CANDIDATES, EPSILON = 32, 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """What --rerank was given."""

    reverse: dict[str, float] = field(default_factory=dict[str, float])
    lm: dict[str, float] = field(default_factory=dict[str, float])
    length: float = 0.0
    reverse_tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """How a translation is chosen among several; by the model's own score where nothing else was asked for."""

    utility: Literal["chrf", "bleu"] | None
    weights: Weights | None
    candidates: int | None
    n_best: int | None

    def sampling(
        self, sample: bool, *, beam: int | None, epsilon: float | None, **drawn: Any
    ) -> "Sampling | None":
        """How translations are drawn; --mbr draws them too, unless it has a beam, and from the distribution that suits
        it, unless the options say another."""
        draws = self.utility is not None and beam is None and not sample
        if draws and all(drawn[name] is None for name in ("temperature", "top_k", "top_p")):
            epsilon = EPSILON if epsilon is None else epsilon
        return sampling_of(sample or draws, epsilon=epsilon, **drawn)

    def mbr(self, *, beam: int | None, samples: bool) -> "Mbr | None":
        """The settings of --mbr, None without it: 32 samples, or as many candidates as the beam has."""
        if self.utility is None:
            return None
        from trimtab.decode.mbr import Mbr

        usual = CANDIDATES if samples or beam is None else beam
        return Mbr(utility=self.utility, candidates=self.candidates or usual)

    def reranked(self, search: "Search") -> int:
        """How many candidates are reranked: those asked for, or as many as the beam has, or 32 samples; 0 without
        --rerank."""
        if self.weights is None:
            return 0
        usual = CANDIDATES if search.sampling is not None else search.beam
        found = self.candidates or max(usual, self.n_best or 1)
        if found < 2 or (search.sampling is None and found > search.beam):
            raise input_error(
                "--rerank: more candidates than the beam has"
                if found > 1
                else "--rerank: a single candidate",
                got=f"{found} candidates of a beam of {search.beam}",
                allowed="2 to as many as the beam, or samples",
                fix=f"add --beam {max(found, 4)}, or --sample",
            )
        return found

    def reranker(self, device: str | None) -> "Reranker | None":
        """The models of --rerank; None without it."""
        if self.weights is None:
            return None
        from trimtab.evaluation.reranking import load_reranker

        weights = self.weights
        return load_reranker(
            reverse=weights.reverse,
            lm=weights.lm,
            length=weights.length,
            reverse_tags=weights.reverse_tags,
            device=device,
        )


def choice_of(
    utility: Literal["chrf", "bleu"] | None,
    rerank: Sequence[str] | None,
    *,
    candidates: int | None,
    n_best: int | None,
    reverse_tags: Sequence[str] | None,
) -> Choice:
    """What the options ask for; InputError for those that cannot be combined, and for a --rerank that means nothing."""
    refuse_together("--mbr", utility, {"--rerank": rerank or None})
    if candidates is not None and utility is None and not rerank:
        raise input_error(
            "--candidates: nothing chooses among them",
            got=f"--candidates {candidates} without --mbr or --rerank",
            allowed="--mbr chrf, or --rerank, with it",
            fix="add --mbr chrf; to print several translations use --n-best",
        )
    if n_best is not None and candidates is not None and n_best > candidates:
        raise input_error(
            "--n-best: more than there are candidates",
            got=f"--n-best {n_best} of {candidates} candidates",
            allowed=f"1 to {candidates}",
            fix="raise --candidates",
        )
    weights = _weights(rerank or [], tuple(reverse_tags or ()))
    return Choice(utility=utility, weights=weights, candidates=candidates, n_best=n_best)


def write_reranked(
    choice: Choice,
    translator: "Translator",
    lines: "BinaryLines",
    output: "TextOutput",
    *,
    device: str | None,
    name: str,
    prefixes: "Prefixes" = None,
) -> bool:
    """The best candidate of each line, a line each, or its best as --n-best writes them; False without --rerank, where
    nothing is written."""
    reranker = choice.reranker(device)
    if reranker is None:
        return False
    from trimtab.decode.candidate import n_best_text
    from trimtab.decode.reading import read_lines

    most = choice.reranked(translator.setup.search)
    lists = reranker.stream(translator, read_lines(lines, name=name), n=most, prefixes=prefixes)
    for number, few in enumerate(lists):
        text = few[0].text + "\n" if choice.n_best is None else n_best_text(number, few[: choice.n_best])
        output.write(text)
        if translator.read_ahead == 1:
            output.flush()
    output.flush()
    return True


def _weights(given: Sequence[str], reverse_tags: tuple[str, ...]) -> Weights | None:
    found: dict[str, dict[str, float]] = {"reverse": {}, "lm": {}, "length": {}}
    for text in given:
        kind, _, value = text.partition("=")
        run, _, weight = value.rpartition(":")
        if kind not in found or bool(run) == (kind == "length"):
            raise _not_a_weight(text)
        if run in found[kind]:
            raise input_error(
                f"--rerank: {kind} is given twice" + (f" for {run}" if run else ""),
                got=text,
                allowed="one weight for each feature",
                fix="leave one out",
            )
        found[kind][run] = _weight(text, weight)
    reverse, lm, length = found["reverse"], found["lm"], found["length"].get("", 0.0)
    if reverse_tags and not reverse:
        raise input_error(
            "--reverse-tag: there is no reverse model to read it",
            got="--reverse-tag without --rerank reverse=RUN:WEIGHT",
            allowed="both, or neither",
            fix="add --rerank reverse=RUN:0.5, or leave it out",
        )
    return Weights(reverse=reverse, lm=lm, length=length, reverse_tags=reverse_tags) if given else None


def _weight(text: str, weight: str) -> float:
    try:
        found = float(weight)
    except ValueError:
        raise _not_a_weight(text) from None
    if not math.isfinite(found):
        raise _not_a_weight(text)
    return found


def _not_a_weight(text: str) -> InputError:
    return input_error(
        "--rerank: not a feature with its weight",
        got=text,
        allowed="reverse=RUN:WEIGHT, lm=RUN:WEIGHT or length=WEIGHT",
        fix="write --rerank reverse=runs/de_en:0.5 --rerank lm=runs/lm_de:0.2 --rerank length=0.1",
    )
