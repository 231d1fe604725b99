"""`trimtab translate`: lines in, as many lines out, in order."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from trimtab.cli.arguments import (
    DEFAULT_BEAM,
    Adapter,
    BatchTokens,
    Beam,
    Device,
    Direction,
    LengthPenalty,
    MaxLength,
    Output,
    Runs,
    Tag,
    Threads,
    sized,
    take_threads,
    with_direction,
)
from trimtab.cli.candidate_options import (
    Candidates,
    Choice,
    MbrUtility,
    Rerank,
    ReverseTag,
    choice_of,
    write_reranked,
)
from trimtab.cli.line_progress import is_shown, shown_progress
from trimtab.cli.random_options import Seed, TopK
from trimtab.cli.sampling_options import Epsilon, Sample, Temperature, TopP
from trimtab.cli.search_options import (
    AlignmentsFile,
    EnsembleMode,
    GlossaryFile,
    NBest,
    NoRepeatNgram,
    Prefix,
    PrefixFile,
    ShortlistFile,
    StopRule,
    check_beside,
    check_outputs,
    opened_alignments,
    opened_prefixes,
    opened_terms,
    refuse_together,
    report_terms,
)
from trimtab.cli.source_factors import Factors, factor_files, options_of, tokenizers_of, with_factor_files
from trimtab.cli.streams import opened_input, opened_output
from trimtab.cli.typed_lines import is_typed, typed
from trimtab.errors import input_error

if TYPE_CHECKING:
    from trimtab.decode.reading import BinaryLines
    from trimtab.decode.sampling import Sampling
    from trimtab.decode.search import Search
    from trimtab.inference.translator import TextOutput, Translator

DocumentForm = Literal["text", "jsonl"]

Source = Annotated[
    Path | None,
    typer.Option("--input", metavar="FILE", help="Text, one sentence per line; by default stdin."),
]
Interactive = Annotated[
    bool,
    typer.Option(
        "--interactive",
        help="Answer each line before the next is read, as in a terminal; otherwise up to 4,096 lines are read first.",
    ),
]
Documents = Annotated[
    DocumentForm | None,
    typer.Option(
        help="Translate in context, as a run with the transform `context` learned it: text with an empty line "
        "between documents, or a list of sentences a line."
    ),
]


def translate(
    runs: Runs,
    source: Source = None,
    output: Output = None,
    beam: Beam = None,
    tag: Tag = None,
    length_penalty: LengthPenalty = 1.0,
    stop: StopRule = "exact",
    prefix: Prefix = None,
    prefix_file: PrefixFile = None,
    glossary: GlossaryFile = None,
    factors: Factors = None,
    n_best: NBest = None,
    no_repeat_ngram: NoRepeatNgram = None,
    sample: Sample = False,
    temperature: Temperature = None,
    top_k: TopK = None,
    top_p: TopP = None,
    epsilon: Epsilon = None,
    seed: Seed = None,
    documents: Documents = None,
    alignments: AlignmentsFile = None,
    ensemble_mode: EnsembleMode = "linear",
    interactive: Interactive = False,
    shortlist: ShortlistFile = None,
    mbr: MbrUtility = None,
    candidates: Candidates = None,
    rerank: Rerank = None,
    reverse_tag: ReverseTag = None,
    adapter: Adapter = None,
    device: Device = None,
    threads: Threads = None,
    batch_tokens: BatchTokens = None,
    max_length: MaxLength = None,
    direction: Direction = None,
) -> None:
    """Translate text, line by line."""
    named = {"--prefix-file": prefix_file, "--shortlist": shortlist, "--glossary": glossary}
    alone = {"--n-best": n_best, "--prefix": prefix, "--rerank": rerank, "--mbr": mbr, **named}
    runs = _check_words(runs, documents, {**alone, "--alignments": alignments}, direction, sample=sample)
    choice = choice_of(mbr, rerank, candidates=candidates, n_best=n_best, reverse_tags=reverse_tag)
    drawn = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "epsilon": epsilon, "seed": seed}
    sampling = choice.sampling(sample, beam=beam, **drawn)
    beside_words = factor_files(factors)
    inputs = {"--input": source, **named, **options_of(beside_words)}
    check_outputs(output, alignments, inputs=inputs, models=runs)
    with opened_input(source) as lines, opened_prefixes(prefix, prefix_file) as prefixes:
        shaped = {"length_penalty": length_penalty, "stop": stop, "no_repeat_ngram": no_repeat_ngram}
        search = _search(beam, sampling, choice=choice, **shaped)
        asked = _asked(source, glossary, {"prefixes": prefixes} if documents is None else {})
        loaded = {"search": search, "tags": tag or (), "device": device}
        translator = _opened(runs, shortlist, threads, adapter=adapter, ensemble=ensemble_mode, **loaded)
        translator = sized(translator, batch_tokens=batch_tokens, max_length=max_length)
        at_once, lines = _line_by_line(translator, lines, source, interactive=interactive)
        progress = _progress(translator, source, hidden=at_once or is_shown(output))
        words = with_factor_files(lines, beside_words, lambda: tokenizers_of(translator), name=asked["name"])
        with opened_output(output) as text, opened_alignments(alignments, asked), progress, words as lines:
            reranks = None if choice.weights is None else partial(write_reranked, choice, device=device)
            _write(translator, lines, text, documents=documents, n_best=n_best, asked=asked, reranks=reranks)
        report_terms(translator, glossary)


def _asked(source: Path | None, glossary: Path | None, prefixes: dict[str, Any]) -> dict[str, Any]:
    return {"name": "stdin" if source is None else str(source), **opened_terms(glossary), **prefixes}


def _line_by_line(
    translator: "Translator", lines: "BinaryLines", source: Path | None, *, interactive: bool
) -> tuple[bool, "BinaryLines"]:
    """Whether each line is answered before the next is read, and the lines, with a prompt where they are typed."""
    if not (interactive or is_typed(source)):
        return False, lines
    translator.read_ahead = 1
    return True, typed(lines) if is_typed(source) else lines


def _opened(
    runs: list[str],
    shortlist: Path | None,
    threads: int | None,
    *,
    adapter: str | None,
    ensemble: EnsembleMode,
    **loaded: Any,
) -> "Translator":
    from trimtab.inference import load_translator

    take_threads(threads)
    if adapter is not None:
        from trimtab.inference.together import load_adapted_translator

        translator = load_adapted_translator(runs, adapter=adapter, **loaded)
    else:
        translator = load_translator(runs, ensemble=ensemble, **loaded)
    return translator if shortlist is None else translator.with_shortlist(shortlist)


def _search(beam: int | None, sampling: "Sampling | None", *, choice: Choice, **shaped: Any) -> "Search":
    from trimtab.decode.search import Search

    mbr = choice.mbr(beam=beam, samples=sampling is not None)
    search = Search(beam=_beam(beam, sampling), sampling=sampling, mbr=mbr, **shaped)
    search.width(choice.reranked(search) or choice.n_best or 1)
    return search


def _write(
    translator: "Translator",
    lines: "BinaryLines",
    text: "TextOutput",
    *,
    documents: DocumentForm | None,
    n_best: int | None,
    asked: dict[str, Any],
    reranks: Callable[..., object] | None,
) -> None:
    if reranks is not None:
        reranks(translator, lines, text, **asked)
    elif documents is not None:
        translator.write_documents(lines, text, form=documents, **asked)
    elif n_best is not None:
        translator.write_n_best(lines, text, n=n_best, **asked)
    else:
        translator.translate_stream(lines, text, **asked)


def _progress(translator: "Translator", source: Path | None, *, hidden: bool) -> AbstractContextManager[None]:
    return shown_progress(lambda: translator.counts.pieces, source, hidden=hidden)


def _check_words(
    runs: list[str],
    documents: str | None,
    others: Mapping[str, object],
    direction: str | None,
    *,
    sample: bool,
) -> list[str]:
    """The runs with their direction, once it is known that these options go together."""
    _refuse_texts(runs)
    refuse_together("--documents", documents, others)
    check_beside({**others, "--sample": sample or None})
    return [with_direction(run, direction) for run in runs]


def _refuse_texts(runs: list[str]) -> None:
    """A text where a run is expected: what is translated comes by an option, since several runs may be named."""
    for name in runs:
        if Path(name).is_file():
            raise input_error(
                f"{name}: a file, not a run",
                got="a file among the runs",
                allowed="folders of runs, which form an ensemble",
                fix=f"name the text to translate with --input: `--input {name}`",
            )


def _beam(given: int | None, sampling: "Sampling | None") -> int:
    if given is not None and sampling is not None:
        raise input_error(
            "--beam: beam search and --sample exclude each other",
            got="both",
            allowed="one of them",
            fix="drop --beam; --n-best N samples N translations of each line",
        )
    return DEFAULT_BEAM if given is None else given
