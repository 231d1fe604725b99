"""Every finding that only a run can show, in the order of a run."""

from trimtab.run_findings import built_parts, checkpoints, data, evaluations, preflight, steps, trackers
from trimtab.run_findings.spec import RunFinding

ALL: tuple[RunFinding, ...] = (
    *data.ALL,
    *preflight.ALL,
    *built_parts.ALL,
    *evaluations.ALL,
    *steps.ALL,
    *checkpoints.ALL,
    *trackers.ALL,
)
