from tests.for_each import for_each
from trimtab.finding import Finding
from trimtab.progress import Progress, Silent


def test_the_silent_one_is_a_progress_and_tells_nothing(capsys):
    silent = Silent()
    assert isinstance(silent, Progress)
    silent.message("text")
    silent.step({"step": 1, "loss": 1.0}, share=0.1, seconds_left=None)
    silent.evaluation({"step": 1, "set": "dev"})
    silent.finding(Finding(code="S901", name="n", severity="note", message="m"))
    assert capsys.readouterr() == ("", "")


@for_each("missing", ["message", "step", "evaluation", "finding"])
def test_something_that_cannot_be_told_everything_is_no_progress(missing):
    words = {
        name: lambda self: None for name in ("message", "step", "evaluation", "finding") if name != missing
    }
    assert not isinstance(type("Half", (), words)(), Progress)
