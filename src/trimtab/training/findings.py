"""The findings of a run: reported, logged, and kept while they apply."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from trimtab.checkpoint.journal import Journal
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.finding import Finding
from trimtab.progress import Progress

OF_AN_EVALUATION = "of_an_evaluation"
"""In a line of `findings.jsonl` that an evaluation has written: it is true with that evaluation and no longer."""


class Findings:
    """`findings.jsonl` has everything that was ever found; `current` what still holds."""

    def __init__(self, folder: RunFolder, progress: Progress) -> None:
        self.folder, self.progress = folder, progress
        self.step = 0
        """The newest step, which findings are written down with."""
        self.current: list[Finding] = []
        self.evaluating = False

    @contextmanager
    def of_an_evaluation(self) -> Iterator[None]:
        """Findings inside the block are reported again when the evaluation is repeated."""
        self.evaluating = True
        try:
            yield
        finally:
            self.evaluating = False

    def tell(self, finding: Finding) -> None:
        """Writes a finding down and tells it."""
        self.current.append(finding)
        journal = Journal(self.folder.findings, writes=self.folder.writes)
        line = {"step": self.step, **{key: getattr(finding, key) for key in Finding.__slots__}}
        journal.write(line | ({OF_AN_EVALUATION: True} if self.evaluating else {}))
        journal.close()
        self.progress.finding(finding)

    def look_again_for(self, *codes: str) -> None:
        """Forgets what the next evaluation looks for again: a run that has recovered ends well."""
        self.current = [finding for finding in self.current if finding.code not in codes]


class PendingFindings:
    """Keeps findings until there is a listener, and passes them on from then on."""

    def __init__(self) -> None:
        self.pending: list[Finding] = []
        self.listener: Callable[[Finding], None] | None = None

    def tell(self, finding: Finding) -> None:
        """Keeps a finding, or passes it on."""
        if self.listener is None:
            self.pending.append(finding)
        else:
            self.listener(finding)

    def pass_on_to(self, listener: Callable[[Finding], None]) -> None:
        """Tells all that were kept, in their order, and later ones at once."""
        self.listener = listener
        for finding in self.pending:
            listener(finding)
        self.pending.clear()
