import io
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tests.report.folder_of_a_run import ARABIC, HOSTILE, write_run
from trimtab.report.page import page_html, report_of
from trimtab.report.run_data import open_run
from trimtab.report.samples import (
    MOST_CHARACTERS,
    MOST_OF_A_PICTURE,
    MOST_PICTURES,
    MOST_TIMES,
    changed,
    pictures_of,
    samples_of,
)


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


def with_pictures(tmp_path, **contents):
    run = write_run(tmp_path / "my")
    (run / "samples").mkdir()
    for name, content in contents.items():
        (run / "samples" / f"{name.replace('_', '-')}.png").write_bytes(content)
    return run


def a_picture(width=3, height=2):
    written = io.BytesIO()
    Image.new("RGB", (width, height)).save(written, format="PNG")
    return written.getvalue()


def test_pictures_are_shown_through_time_the_newest_first(tmp_path):
    names = [f"step_{step:08}" for step in range(100, 1100, 100)]
    run = with_pictures(tmp_path, **dict.fromkeys(names, a_picture()))
    found = pictures_of(open_run(run))
    assert [each.step for each in found.shown] == [1000, 700, 400, 100]
    assert len(found.shown) == MOST_PICTURES
    assert (found.num_drawn, found.shown[0].width, found.shown[0].height) == (10, 3, 2)
    html = page_html(report_of([open_run(run)]))
    assert html.count('<img src="data:image/png;base64,') == MOST_PICTURES
    assert 'alt="Samples of my at step 1,000"' in html
    assert "3 earlier of 10" in html


def test_a_new_picture_is_seen_while_the_run_trains(tmp_path):
    run = with_pictures(tmp_path, step_00000100=a_picture())
    seen = open_run(run)
    (run / "samples" / "step-00000200.png").write_bytes(a_picture())
    os.utime(run / "samples", (1, 1))
    assert seen.refresh()
    assert [step for step, _ in seen.pictures] == [100, 200]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<script>alert(1)</script>",
        b"\x89PNG\r\n\x1a\n",
        b"\x89PNG\r\n\x1a\n" + bytes(40),
        a_picture()[:16] + bytes(20),
        a_picture() + bytes(MOST_OF_A_PICTURE),
    ],
)
def test_what_is_no_small_png_is_counted_and_left_out(tmp_path, content):
    run = with_pictures(tmp_path, step_00000100=content, other=a_picture())
    found = pictures_of(open_run(run))
    assert (found.shown, found.num_drawn) == ((), 1)
    html = page_html(report_of([open_run(run)]))
    assert "<img" not in html
    assert "too large for this page" in html


def test_links_and_folders_are_no_pictures(tmp_path):
    run = with_pictures(tmp_path)
    (tmp_path / "secret.png").write_bytes(a_picture())
    (run / "samples" / "step-00000100.png").symlink_to(tmp_path / "secret.png")
    (run / "samples" / "step-00000200.png").mkdir()
    assert pictures_of(open_run(run)).shown == ()


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
    assert [line.outputs[0].judged for line in lines] == ["", "29%", ""]


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
