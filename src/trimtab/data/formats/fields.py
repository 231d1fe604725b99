"""The names of two fields of a JSON object."""

from pathlib import Path

from trimtab.errors import input_error


def field_names(path: Path, *, source: str | int, target: str | int) -> tuple[str, str]:
    """Both names; InputError for a number, which names a column of a TSV."""
    for side, name in (("source", source), ("target", target)):
        if isinstance(name, int):
            raise input_error(
                f"{side}: got the number {name}, but {path} has fields with names",
                got=str(name),
                allowed="a name",
                fix="write the name of the field; numbers are for columns of a TSV",
            )
    return str(source), str(target)
