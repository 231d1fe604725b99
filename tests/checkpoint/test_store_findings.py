from pathlib import Path

from trimtab.checkpoint.manifest import Damaged
from trimtab.checkpoint.store_findings import abandoned_removed, damaged, newest_damaged, not_marked


def test_a_mark_that_was_not_written_names_checkpoint_and_reason():
    finding = not_marked(Path("run/checkpoints/step-00000010"), "not enough disk space for run")
    assert str(finding).splitlines()[0] == (
        "warning[K908] healthy-mark-not-written: step-00000010 could not be marked healthy: not enough disk space for "
        "run; training continues   (run/checkpoints/step-00000010)"
    )


def test_what_was_removed_is_counted_and_named():
    names = [".abandoned-step-00000020-aa", ".abandoned-step-00000030-bb"]
    finding = abandoned_removed(Path("run/checkpoints"), names)
    assert finding.severity == "note"
    assert "2 checkpoints" in finding.message
    assert all(name in finding.message for name in names)


def test_a_damaged_checkpoint_names_the_file_and_where_it_is_kept():
    problem = Damaged(Path("run/checkpoints/step-00000010"), "model.safetensors", "is cut short")
    finding = damaged("step-00000010", problem, kept=Path("run/checkpoints/.corrupt-step-00000010-aa"))
    assert (finding.code, finding.severity) == ("K901", "warning")
    assert finding.message == "step-00000010 is not used: model.safetensors is cut short"
    assert finding.where.endswith(".corrupt-step-00000010-aa")
    assert "the next older one is used" in finding.fix


def test_where_the_newest_is_damaged_the_one_that_is_used_is_named():
    finding = newest_damaged(Path("run/checkpoints"), newest="step-00000020", used="step-00000010")
    assert finding.message == "step-00000020 is not sound; the best as step-00000010 knows it is used"
    assert "--resume" in finding.fix
