"""What a user may size of a model that is used: the tokens of a batch, and the longest text."""

from trimtab.arguments import whole_number, wrong


def checked_batch_tokens(given: int | None, *, usual: int) -> int:
    """Tokens of a batch, padding included; the usual number where none is given."""
    if given is None:
        return usual
    return whole_number(given, name="batch_tokens", least=1, fix=f"leave it out for {usual:,}")


def checked_max_length(given: int | None, *, most: int, name: str) -> int:
    """The longest text in tokens, at most what the model `name` was trained with, which is the default."""
    if given is None:
        return most
    length = whole_number(given, name="max_length", least=2, fix=f"leave it out for {most:,}")
    if length > most:
        raise wrong(
            "max_length",
            f"longer than what {name} was trained with",
            got=f"{length:,} tokens",
            allowed=f"2 to {most:,}, which follows from `data.max_tokens` of the run",
            fix=f"leave it out for {most:,}; a longer line is translated in pieces",
        )
    return length
