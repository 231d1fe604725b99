from tests.training.small_line import Told
from trimtab.checkpoint.journal import read_journal
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.finding import Finding
from trimtab.training.logger import Logger
from trimtab.types import TrainState


def test_scores_and_findings_are_written_down_and_told(tmp_path):
    told = Told()
    logger = Logger(RunFolder(tmp_path), told)
    logger.evaluation({"step": 3, "loss": 2.0})
    logger.finding(Finding(code="E901", name="found", severity="error", message="m", why="", fix=""))
    logger.flush()
    assert (
        list(read_journal(tmp_path / "evaluations.jsonl")) == told.evaluations == [{"step": 3, "loss": 2.0}]
    )
    assert [each["code"] for each in read_journal(tmp_path / "findings.jsonl")] == ["E901"]
    assert [each.code for each in told.findings] == ["E901"]


def test_each_log_is_as_long_as_the_state_says(tmp_path):
    logger = Logger(RunFolder(tmp_path), Told())
    found = {journal.path.stem: last for journal, last in logger.logs_at(TrainState(step=9, evaluated=6))}
    assert found == {"metrics": 9, "evaluations": 6, "samples": 6, "sentences": 6, "health": 6}
    assert {each.path.stem for each in logger.logs} == {*found, "quarantine"}


def test_what_was_written_is_on_the_disk_after_it_is_closed(tmp_path):
    logger = Logger(RunFolder(tmp_path), Told())
    logger.metrics.write({"step": 1})
    logger.close()
    assert list(read_journal(tmp_path / "metrics.jsonl")) == [{"step": 1}]


def test_samples_are_pictures_by_step_and_a_place_that_cannot_be_written_ends_nothing(tmp_path):
    told = Told()
    logger = Logger(RunFolder(tmp_path), told)
    logger.picture(b"png", step=500)
    assert (tmp_path / "samples" / "step-00000500.png").read_bytes() == b"png"
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "samples").write_text("a file")
    Logger(RunFolder(tmp_path / "other"), told).picture(b"png", step=500)
    assert (tmp_path / "other" / "samples").read_text() == "a file"
    Logger(RunFolder(tmp_path / "third", writes=False), told).picture(b"png", step=500)
    assert not (tmp_path / "third").exists()
