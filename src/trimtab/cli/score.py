"""`trimtab score`: the log-probability that a model gives existing translations."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trimtab.cli.arguments import Device, Json, Model, Tag
from trimtab.cli.output_place import check_output
from trimtab.cli.source_factors import Factors, factor_files, options_of, with_factor_files
from trimtab.cli.streams import opened_input

if TYPE_CHECKING:
    from trimtab.evaluation.pairs import PairScore


def score(
    run: Model,
    source: Annotated[Path, typer.Option(metavar="FILE", help="Source text, one sentence per line.")],
    target: Annotated[Path, typer.Option(metavar="FILE", help="A translation of each, line by line.")],
    tag: Tag = None,
    factors: Factors = None,
    device: Device = None,
    as_json: Json = False,
) -> None:
    """Print the log-probability of given translations: sum, per token, tokens.

    Natural logarithms, end symbol included, tab-separated, one line per pair; with --json one object per line.
    """
    beside_words = factor_files(factors)
    check_output(None, inputs={"--source": source, "--target": target, **options_of(beside_words)})
    with opened_input(source, option="--source") as left, opened_input(target, option="--target") as right:
        from trimtab.decode.reading import read_lines
        from trimtab.evaluation.pairs import score_pairs
        from trimtab.inference import open_model

        model = open_model(run, device=device)
        with with_factor_files(left, beside_words, lambda: model.tokenizers, name=str(source)) as words:
            sources, targets = read_lines(words, name=str(source)), read_lines(right, name=str(target))
            for pair in score_pairs(model, sources, targets, tags=tag or ()):
                if pair.log_probability is None:
                    _tell_too_long(pair)
                print(json.dumps(pair.to_dict()) if as_json else _row(pair))


def _row(pair: "PairScore") -> str:
    if pair.log_probability is None:
        return f"nan\tnan\t{pair.num_tokens}"
    return f"{pair.log_probability:.6f}\t{pair.per_token:.6f}\t{pair.num_tokens}"


def _tell_too_long(pair: "PairScore") -> None:
    print(
        f"line {pair.line}: not scored, longer than data.max_tokens of the run: "
        f"{pair.source_tokens} source and {pair.num_tokens} target tokens",
        file=sys.stderr,
    )
