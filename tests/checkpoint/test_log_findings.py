import logging

import pytest

from trimtab.checkpoint.log_findings import log_finding
from trimtab.finding import Finding


def test_a_finding_is_logged_in_full_at_the_level_of_its_severity(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO, logger="trimtab")
    for severity in ("error", "warning", "note"):
        log_finding(
            Finding(code="K901", name="some-name", severity=severity, message="100% seen", fix="do it")
        )
    assert [record.levelno for record in caplog.records] == [logging.ERROR, logging.WARNING, logging.INFO]
    assert caplog.records[1].getMessage() == "warning[K901] some-name: 100% seen\n  fix  do it"
