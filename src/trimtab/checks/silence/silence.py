"""One decision to live with a finding."""

from trimtab.checks.place import Place
from trimtab.checks.record import record


@record(kw_only=True)
class Silence:
    """Rules that are not to speak at a line, or in a whole file."""

    rules: tuple[str, ...]
    """As written: codes, names or aliases."""
    because: str
    place: Place
    line: int = 0
    """The line whose findings are meant; 0 is the whole file."""
    is_certain: bool = True
    """Whether it would have suppressed something, if there were anything: not so where only some of the files that it
    is meant for were looked at."""
