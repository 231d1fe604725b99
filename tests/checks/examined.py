"""An example of a rule, read and checked as a file would be."""

from functools import cache

from trimtab.checks.description import Description
from trimtab.checks.document import Document
from trimtab.checks.examine import examine_document
from trimtab.checks.fix.mend import Seen
from trimtab.checks.keys.table import read_version
from trimtab.checks.kinds.kind import Surroundings
from trimtab.checks.read.document import read_document
from trimtab.checks.rule import Check, Diagnosis, Example


@cache
def described(example: Example) -> tuple[Document, tuple[Description, ...]]:
    """The document of an example and what its kind tells of it; nothing of this machine plays a part."""
    others = dict(example.beside)

    def beside(name: str) -> Document | None:
        return read_document(name, others[name].encode()) if name in others else None

    pairs = (pair.partition("=") for pair in example.versions.split())
    versions = {library: read_version(version) for library, _, version in pairs}
    document = read_document(example.file, example.text.encode())
    runs = examine_document(document, surroundings=Surroundings(versions=versions, beside=beside))
    assert runs, "no kind knows it"
    return runs[0].document, tuple(runs)


def diagnosed(check: Check, example: Example) -> list[Diagnosis]:
    """What one rule says of an example."""
    return [found for run in described(example)[1] for found in check(run)]


def seen(check: Check, example: Example) -> Seen:
    """The same, as the fixing of files asks for it; of one rule alone, so that no other fixes in its place."""
    return Seen(document=described(example)[0], diagnoses=tuple(diagnosed(check, example)))
