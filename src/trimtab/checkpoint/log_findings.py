"""The default receiver of this stage's findings: the program's log."""

import logging
from collections.abc import Callable

from trimtab.finding import Finding

Tell = Callable[[Finding], None]
"""Takes a finding; must not raise."""

_LEVELS = {"error": logging.ERROR, "warning": logging.WARNING, "note": logging.INFO}


def log_finding(finding: Finding) -> None:
    """Logs under the name `trimtab`, at the level of the finding's severity."""
    logging.getLogger("trimtab").log(_LEVELS[finding.severity], "%s", finding)
