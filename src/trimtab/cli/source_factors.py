"""`--factors NAME=FILE`: source factors in files beside the text that is translated."""

from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trimtab.cli.streams import opened_input
from trimtab.errors import input_error

if TYPE_CHECKING:
    from trimtab.decode.reading import BinaryLines
    from trimtab.inference.translator import Translator

Factors = Annotated[
    list[str] | None,
    typer.Option(
        "--factors",
        metavar="NAME=FILE",
        help="Source factors of the text, a value for each word, as in `data.source_factors`; repeatable. Without it, "
        "the values follow each word: word|value.",
    ),
]


def factor_files(given: list[str] | None) -> dict[str, Path]:
    """The files by the names of their factors; InputError for what is not NAME=FILE, and a name given twice."""
    found: dict[str, Path] = {}
    for each in given or []:
        name, separator, path = each.partition("=")
        if not separator or not name or not path or name in found:
            raise input_error(
                f"--factors {each}: {'given twice' if name in found else 'no file of source factors'}",
                got=each,
                allowed="NAME=FILE, each name once",
                fix="write `--factors pos=text.pos`",
            )
        found[name] = Path(path)
    return found


def options_of(files: Mapping[str, Path]) -> dict[str, Path | None]:
    """The files as inputs, by their options."""
    return {f"--factors {name}": path for name, path in files.items()}


@contextmanager
def with_factor_files(
    lines: "BinaryLines", files: Mapping[str, Path], tokenizers: Callable[[], Any], *, name: str
) -> Generator["BinaryLines", None, None]:
    """The lines with the values in the files behind their words; without files they must have them already. InputError
    where the files are not those of the model's factors, and with its number for a line that lacks values.
    `tokenizers` gives those of the model, which know its factors."""
    factors = getattr(tokenizers(), "factors", ())
    if not factors and not files:
        yield lines
        return
    from trimtab.data.factored_pieces import ordered_files
    from trimtab.inference.factored_lines import FactoredLines, WrittenFactors

    if not files:
        count = sum(each.kind == "file" for each in factors)
        yield WrittenFactors(lines, count, name=name) if count else lines
        return
    with ExitStack() as stack:
        opened = {
            path: stack.enter_context(opened_input(Path(path), option=f"--factors {each}"))
            for each, path in ordered_files(files, factors).items()
        }
        yield FactoredLines(lines, opened, name=name)


def tokenizers_of(translator: "Translator") -> Any:
    """Those of the model, which know its factors."""
    return getattr(translator.setup.tokenizer, "inner", None)
