"""`trimtab evaluate`: how well a model translates a text whose translation is known."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from trimtab.cli.arguments import DEFAULT_BEAM, Beam, Direction, Json, Tag, with_direction
from trimtab.cli.comparison import Against, Hypotheses, Table, run_comparison
from trimtab.cli.source_factors import Factors, factor_files
from trimtab.errors import InputError, input_error
from trimtab.metrics.catalogue import OF_TRANSLATIONS
from trimtab.metrics.metric import BleuTokenizer, MetricSettings

USUAL_TOKENIZER = MetricSettings().bleu_tokenizer
Ter = Annotated[
    bool, typer.Option("--ter", help="Also compute TER: edits per hundred words, lower is better.")
]
Comet = Annotated[
    str | None,
    typer.Option(
        metavar="MODEL",
        help="Also compute COMET: a checkpoint, a model's folder, or a name such as Unbabel/wmt22-comet-da.",
    ),
]
OptionalModel = Annotated[
    str | None,
    typer.Argument(
        metavar="MODEL",
        help="The folder of a run (its best checkpoint), RUN@last, RUN@500, a checkpoint, or an export's folder; with "
        "--hypotheses it may be left out.",
    ),
]
More = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        metavar="METRIC",
        help=f"Another metric of translations; repeatable: {', '.join(OF_TRANSLATIONS)}.",
    ),
]

Text = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="For language models, also exported: documents, blocks between blank lines or JSONL's `text`; - is stdin.",
    ),
]


def evaluate(
    run: OptionalModel = None,
    source: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Text to translate, one sentence per line; - is stdin."),
    ] = None,
    reference: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Reference translation, line by line.")
    ] = None,
    documents: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Instead of both: JSONL, one document per line with the lists `src` and `tgt`, translated in context.",
        ),
    ] = None,
    text: Text = None,
    beam: Beam = None,
    tag: Tag = None,
    bleu_tokenizer: Annotated[
        BleuTokenizer, typer.Option(help="How sacreBLEU cuts words; languages without spaces need their own.")
    ] = USUAL_TOKENIZER,
    ter: Ter = False,
    metric: More = None,
    comet: Comet = None,
    factors: Factors = None,
    hypotheses: Hypotheses = None,
    against: Against = None,
    table: Table = None,
    direction: Direction = None,
    as_json: Json = False,
) -> None:
    """Score translations: BLEU, chrF, loss, repetition; TER and COMET on request. For a language model: perplexity
    per token and per byte.

    `--against` compares two systems on the same lines; `--hypotheses` scores translations that exist already.
    """
    run = None if run is None else with_direction(run, direction)
    names = [*_known(metric or []), *(["ter"] if ter else []), *(["comet"] if comet is not None else [])]
    more = names, MetricSettings(bleu_tokenizer=bleu_tokenizer, comet_model=comet or "")
    files = {"source": source, "reference": reference}
    beside_words = factor_files(factors)
    if beside_words and (hypotheses or against is not None or text is not None or documents is not None):
        raise _no_factors()
    if hypotheses or against is not None:
        _refuse_compared(text, documents)
        options: dict[str, Any] = {**files, "beam": beam, "tags": tag, "more": more, "as_json": as_json}
        run_comparison(run, hypotheses or [], against=against, table=table, **options)
        return
    run = _only_one(run, table)
    if text is not None:
        others = (*files.values(), documents, tag, names, beam is not None, bleu_tokenizer != USUAL_TOKENIZER)
        _text(run, text, as_json=as_json, alone=not any(others))
        return
    if documents is not None:
        _documents_alone(names, **files)
        _documents(run, documents, beam=beam, tags=tag, bleu_tokenizer=bleu_tokenizer, as_json=as_json)
        return
    _translations(run, beam=beam, tags=tag, more=more, as_json=as_json, factors=beside_words, **files)


def _only_one(run: str | None, table: Path | None) -> str:
    """The model, where none is compared with another."""
    if table is not None:
        raise _nothing_beside()
    if run is None:
        raise _no_model()
    return run


def _documents_alone(names: Sequence[str], *, source: Path | None, reference: Path | None) -> None:
    if source is not None or reference is not None or names:
        raise _not_beside_documents()


def _translations(
    run: str,
    *,
    source: Path | None,
    reference: Path | None,
    beam: int | None,
    tags: list[str] | None,
    more: tuple[list[str], MetricSettings],
    as_json: bool,
    factors: Mapping[str, Path],
) -> None:
    if source is None or reference is None:
        raise input_error(
            "evaluate: nothing to translate and compare",
            got=f"no {'--source' if source is None else '--reference'}",
            allowed="--source FILE --reference FILE, --documents FILE, or --text FILE for a language model",
            fix="name both files, or --documents FILE; for a language model --text FILE",
        )
    from trimtab.evaluation.report import RequestedMetrics
    from trimtab.evaluation.translations import evaluate as evaluate_translations

    names, settings = more
    text: Any = source
    if factors:
        from trimtab.evaluation.translations import FactoredSource

        text = FactoredSource(source, factors)
    report = evaluate_translations(
        run,
        source=text,
        reference=reference,
        beam=DEFAULT_BEAM if beam is None else beam,
        tags=tags or (),
        metrics=RequestedMetrics(names=tuple(names), settings=settings),
    )
    typer.echo(json.dumps(report.to_dict(), ensure_ascii=False, indent=2) if as_json else report.render())


def _no_factors() -> InputError:
    return input_error(
        "--factors: is for the source of one model",
        got="--factors with --against, --hypotheses, --text or --documents",
        allowed="MODEL --source FILE --reference FILE --factors NAME=FILE",
        fix="translate with each model, `trimtab translate RUN --factors NAME=FILE`, and compare the outputs: "
        "`--hypotheses FILE --against FILE`",
    )


def _no_model() -> InputError:
    return input_error(
        "evaluate: nothing to score",
        got="neither a MODEL nor --hypotheses",
        allowed="a run, a checkpoint, an export's folder, or files of translations",
        fix="name a run: `trimtab evaluate RUN --source FILE --reference FILE`; or translations: "
        "`trimtab evaluate --hypotheses FILE --reference FILE`",
    )


def _nothing_beside() -> InputError:
    return input_error(
        "--table: needs two systems to compare",
        got="one model",
        allowed="--table FILE with --against or --hypotheses",
        fix="add --against MODEL; the translations of one model alone are the output of `trimtab translate`",
    )


def _refuse_compared(text: Path | None, documents: Path | None) -> None:
    for option, path in (("--text", text), ("--documents", documents)):
        if path is not None:
            raise input_error(
                f"{option}: is scored by itself",
                got=f"{option} with --against or --hypotheses",
                allowed="--source FILE --reference FILE where systems are compared",
                fix=f"leave {option} out, or --against and --hypotheses",
            )


def _known(names: list[str]) -> list[str]:
    """InputError for a metric that there is not, or that is none of translations."""
    for name in names:
        if name not in OF_TRANSLATIONS:
            raise input_error(
                "--metric: not a metric of translations",
                got=name,
                allowed=", ".join(OF_TRANSLATIONS),
                fix="choose one of these; COMET has its own option, --comet MODEL",
            )
    return names


def _not_beside_documents() -> InputError:
    return input_error(
        "--documents: contains sources and references, and is scored with BLEU and chrF",
        got="--source, --reference, --ter, --metric or --comet with it",
        allowed="--documents FILE",
        fix="leave the others out",
    )


def _text(run: str, text: Path, *, as_json: bool, alone: bool) -> None:
    if not alone:
        raise input_error(
            "--text measures perplexity and translates nothing",
            got="--source, --reference, --documents, --tag, --beam, --ter, --metric, --comet or --bleu-tokenizer "
            "with it",
            allowed="--text FILE",
            fix="leave the others out",
        )
    from trimtab.evaluation.texts import evaluate_text

    report = evaluate_text(run, text=text)
    typer.echo(json.dumps(report.to_dict(), indent=2) if as_json else report.render())


def _documents(
    run: str,
    documents: Path,
    *,
    beam: int | None,
    tags: list[str] | None,
    bleu_tokenizer: BleuTokenizer,
    as_json: bool,
) -> None:
    from trimtab.evaluation.documents import evaluate_documents

    report = evaluate_documents(
        run,
        documents=documents,
        beam=DEFAULT_BEAM if beam is None else beam,
        tags=tags or (),
        bleu_tokenizer=bleu_tokenizer,
    )
    typer.echo(json.dumps(report.to_dict(), ensure_ascii=False, indent=2) if as_json else report.render())
