"""`trimtab translate`: lines in, as many lines out, in order."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from trimtab.cli.arguments import DEFAULT_BEAM, Beam, Device, LengthPenalty, Runs, Tag
from trimtab.cli.output_place import check_output
from trimtab.cli.random_options import Seed, TopK
from trimtab.cli.sampling_options import Epsilon, Sample, Temperature, TopP, sampling_of
from trimtab.cli.search_options import (
    AlignmentsFile,
    EnsembleMode,
    GlossaryFile,
    NBest,
    NoRepeatNgram,
    Prefix,
    PrefixFile,
    StopRule,
    check_output_beside,
    opened_alignments,
    opened_glossary,
    opened_prefixes,
    refuse_together,
    terms_kept,
)
from trimtab.cli.streams import opened_input, opened_output
from trimtab.errors import input_error

if TYPE_CHECKING:
    from trimtab.decode.reading import BinaryLines
    from trimtab.decode.sampling import Sampling
    from trimtab.decode.search import Search
    from trimtab.inference.translator import TextOutput, Translator

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
    source: Annotated[
        Path | None,
        typer.Option("--input", metavar="FILE", help="Text, one sentence a line; by default stdin."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Written when it is complete; by default stdout.")
    ] = None,
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
    device: Device = None,
) -> None:
    """Translate text, line by line."""
    prefixed = {"--prefix": prefix, "--prefix-file": prefix_file}
    _check_words(runs, documents, {"--n-best": n_best, "--glossary": glossary, **prefixed})
    refuse_together("--alignments", alignments, {"--documents": documents, "--n-best": n_best})
    refuse_together("--glossary", glossary, {"--sample": sample or None, **prefixed})
    sampling = sampling_of(
        sample, temperature=temperature, top_k=top_k, top_p=top_p, epsilon=epsilon, seed=seed
    )
    inputs = {"--input": source, "--prefix-file": prefix_file, "--glossary": glossary}
    check_output(output, inputs=inputs, models=runs)
    check_output_beside(alignments, inputs={**inputs, "--output": output}, models=runs)
    with opened_input(source) as lines, opened_prefixes(prefix, prefix_file) as prefixes:
        from trimtab.inference import load_translator

        shaped = {"length_penalty": length_penalty, "stop": stop, "no_repeat_ngram": no_repeat_ngram}
        search = _search(beam, sampling, n_best=n_best, **shaped)
        asked: dict[str, Any] = {"name": "stdin" if source is None else str(source)}
        if glossary is not None:
            asked["glossary"] = opened_glossary(glossary)
        translator = load_translator(
            runs, search=search, tags=tag or (), device=device, ensemble=ensemble_mode
        )
        if documents is None:
            asked["prefixes"] = prefixes
        with opened_output(output) as text, opened_alignments(alignments, asked):
            _write(translator, lines, text, documents=documents, n_best=n_best, asked=asked)
        if glossary is not None:
            typer.echo(terms_kept(translator.counts), err=True)


def _search(beam: int | None, sampling: "Sampling | None", *, n_best: int | None, **shaped: Any) -> "Search":
    from trimtab.decode.search import Search

    search = Search(beam=_beam(beam, sampling), sampling=sampling, **shaped)
    search.width(n_best or 1)
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


def _check_words(runs: list[str], documents: str | None, others: "dict[str, object]") -> None:
    _refuse_texts(runs)
    refuse_together("--documents", documents, others)


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
