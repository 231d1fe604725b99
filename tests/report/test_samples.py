from hypothesis import given
from hypothesis import strategies as st

from tests.report.folder_of_a_run import ARABIC, HOSTILE, write_run
from trimtab.report.run_data import open_run
from trimtab.report.samples import MOST_CHARACTERS, MOST_TIMES, changed, samples_of


def lines_of(tmp_path, *samples):
    return samples_of(open_run(write_run(tmp_path / "my", samples=samples)))


def test_a_line_is_shown_through_time_the_newest_first(tmp_path):
    lines = samples_of(open_run(write_run(tmp_path / "my")))
    assert [line.given for line in lines][:2] == [HOSTILE, ARABIC]
    assert [output.step for output in lines[1].outputs] == [300, 200, 100]
    assert [(piece.text, piece.is_new) for piece in lines[1].outputs[0].pieces] == [
        (f"{ARABIC} ", False),
        ("300", True),
    ]
    assert lines[2].outputs[0].is_same


def test_other_tasks_have_other_fields(tmp_path):
    lines = lines_of(
        tmp_path,
        {"step": 1, "set": "a", "prompt": "Once", "continuation": "upon"},
        {
            "step": 1,
            "set": "b",
            "line": 3,
            "source": "text",
            "label": "good",
            "predicted": "bad",
            "probability": 0.7,
        },
        {"step": 1, "set": "c", "line": 4, "source": "text", "recognised": "something"},
    )
    assert [line.outputs[0].pieces[0].text for line in lines] == ["upon", "bad", "something"]
    assert [line.reference for line in lines] == ["", "good", ""]
    assert lines[0].outputs[0].like_reference == -1


def test_long_texts_are_cut_and_many_evaluations_are_spread(tmp_path):
    samples = [
        {"step": step, "line": 1, "source": "s", "translation": "word " * 1000} for step in range(1, 101)
    ]
    (line,) = lines_of(tmp_path, *samples)
    assert len(line.outputs) == MOST_TIMES
    assert [line.outputs[-1].step, line.outputs[0].step] == [1, 100]
    assert len(line.outputs[-1].pieces[0].text) < MOST_CHARACTERS + 30


@given(st.text(max_size=60), st.text(max_size=60))
def test_the_pieces_of_a_change_are_the_new_text(before, after):
    assert "".join(piece.text for piece in changed(before, after)) == after


@given(st.text(max_size=60))
def test_nothing_is_new_in_the_same_text(text):
    assert not any(piece.is_new for piece in changed(text, text))
