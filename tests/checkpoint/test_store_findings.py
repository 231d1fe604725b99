from pathlib import Path

from trimtab.checkpoint.store_findings import abandoned_removed, not_marked


def test_a_mark_that_was_not_written_names_checkpoint_and_reason():
    finding = not_marked(Path("run/checkpoints/step-00000010"), "no room on the disk of run")
    assert str(finding).splitlines()[0] == (
        "warning[K908] healthy-mark-not-written: step-00000010 could not be marked healthy: no room on the disk of "
        "run; training goes on   (run/checkpoints/step-00000010)"
    )


def test_what_was_removed_is_counted_and_named():
    names = [".abandoned-step-00000020-aa", ".abandoned-step-00000030-bb"]
    finding = abandoned_removed(Path("run/checkpoints"), names)
    assert finding.severity == "note"
    assert "2 checkpoints" in finding.message
    assert all(name in finding.message for name in names)
