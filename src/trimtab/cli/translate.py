"""`trimtab translate`: lines in, as many lines out, in order."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from trimtab.cli.arguments import DEFAULT_BEAM, Beam, Device, LengthPenalty, Runs, Tag
from trimtab.cli.choosing_options import (
    Candidates,
    Choice,
    MbrUtility,
    Rerank,
    ReverseTag,
    choice_of,
    write_reranked,
)
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
from trimtab.cli.streams import opened_input, opened_output
from trimtab.errors import input_error

if TYPE_CHECKING:
    from trimtab.decode.reading import BinaryLines
    from trimtab.decode.sampling import Sampling
    from trimtab.decode.search import Search
    from trimtab.inference.translator import TextOutput, Translator

Source = Annotated[
    Path | None, typer.Option("--input", metavar="FILE", help="Text, one sentence a line; by default stdin.")
]
Output = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Written when it is complete; by default stdout.")
]
DocumentForm = Literal["text", "jsonl"]
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
    shortlist: ShortlistFile = None,
    mbr: MbrUtility = None,
    candidates: Candidates = None,
    rerank: Rerank = None,
    reverse_tag: ReverseTag = None,
    device: Device = None,
) -> None:
    """Translate text, line by line."""
    alone = {"--n-best": n_best, "--prefix": prefix, "--prefix-file": prefix_file, "--rerank": rerank}
    beside = {"--glossary": glossary, "--alignments": alignments}
    _check_words(runs, documents, {**alone, **beside, "--shortlist": shortlist, "--mbr": mbr}, sample=sample)
    choice = choice_of(mbr, rerank, candidates=candidates, n_best=n_best, reverse_tags=reverse_tag)
    drawn = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "epsilon": epsilon, "seed": seed}
    sampling = choice.sampling(sample, beam=beam, **drawn)
    inputs = {
        "--input": source,
        "--prefix-file": prefix_file,
        "--shortlist": shortlist,
        "--glossary": glossary,
    }
    check_outputs(output, alignments, inputs=inputs, models=runs)
    with opened_input(source) as lines, opened_prefixes(prefix, prefix_file) as prefixes:
        shaped = {"length_penalty": length_penalty, "stop": stop, "no_repeat_ngram": no_repeat_ngram}
        search = _search(beam, sampling, choice=choice, **shaped)
        asked = {"name": "stdin" if source is None else str(source), **opened_terms(glossary)}
        loaded = {"search": search, "tags": tag or (), "device": device, "ensemble": ensemble_mode}
        translator = _opened(runs, shortlist, **loaded)
        if documents is None:
            asked["prefixes"] = prefixes
        with opened_output(output) as text, opened_alignments(alignments, asked):
            if choice.weights is None:
                _write(translator, lines, text, documents=documents, n_best=n_best, asked=asked)
            else:
                write_reranked(choice, translator, lines, text, device=device, **asked)
        report_terms(translator, glossary)


def _opened(runs: list[str], shortlist: Path | None, **loaded: Any) -> "Translator":
    from trimtab.inference import load_translator

    translator = load_translator(runs, **loaded)
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
) -> None:
    if documents is not None:
        translator.write_documents(lines, text, form=documents, **asked)
    elif n_best is not None:
        translator.write_n_best(lines, text, n=n_best, **asked)
    else:
        translator.translate_stream(lines, text, **asked)


def _check_words(
    runs: list[str], documents: str | None, others: "dict[str, object]", *, sample: bool
) -> None:
    _refuse_texts(runs)
    refuse_together("--documents", documents, others)
    check_beside({**others, "--sample": sample or None})


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
