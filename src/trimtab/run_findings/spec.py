"""A finding that only a run can show: its code, its texts, its page."""

from dataclasses import dataclass

from trimtab.finding import Finding, Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFinding:
    """What is the same each time a code is found; `found` adds the numbers."""

    code: str
    name: str
    severity: Severity
    """The highest that it is reported with."""
    when: str
    """before the first step, when a run resumes, while training, at a checkpoint."""
    seen: str
    """What is seen, in general; a finding says it with its numbers."""
    why: str
    fix: str
    home: str
    """The module that finds it."""
    also: tuple[str, ...] = ()
    """Modules that find it for other tasks."""
    explains: tuple[str, ...] = ()
    """Codes of what it brings about: where both were found, this one is to be mended first."""
    symptoms: tuple[str, ...] = ()
    """What people see, as they would say it."""

    def found(
        self,
        message: str,
        *,
        severity: Severity | None = None,
        why: str | None = None,
        fix: str | None = None,
        where: str = "",
    ) -> Finding:
        """The finding with what was seen this time; texts that depend on it replace those of the page."""
        return Finding(
            code=self.code,
            name=self.name,
            severity=severity or self.severity,
            message=message,
            why=self.why if why is None else why,
            fix=self.fix if fix is None else fix,
            where=where,
        )
