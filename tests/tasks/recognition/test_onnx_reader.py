import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from tests.image_run import draw_line
from trimtab.tasks.images.given import opened
from trimtab.tasks.recognition import onnx_reader
from trimtab.tasks.recognition.recognizer import load_recognizer

PAGE = Path(__file__).parents[3] / "docs/how_to/recognise_text.md"


def test_the_program_in_the_folder_reads_what_the_run_reads_without_trimtab(image_run, exported, tmp_path):
    out, _ = exported
    lines = ["12ab", "0 9", "c"]
    for number, text in enumerate(lines):
        draw_line(text, size=18 + 9 * number).save(tmp_path / f"{number}.png")
    (tmp_path / "bad.png").write_bytes(b"no image")
    names = [str(tmp_path / f"{number}.png") for number in range(3)]
    code = (
        "import runpy, sys; sys.modules['torch'] = sys.modules['trimtab'] = None; "
        "runpy.run_path(sys.argv.pop(1), run_name='__main__')"
    )
    told = subprocess.run(
        [sys.executable, "-c", code, str(out / "read_lines.py"), *names, str(tmp_path / "bad.png")],
        capture_output=True,
        text=True,
    )
    found = load_recognizer(image_run, device="cpu").recognize(names)
    assert told.stdout.splitlines() == [f"{each.image}\t{each.text}" for each in found]
    assert told.returncode == 1
    assert "bad.png: cannot identify" in told.stderr


@pytest.mark.slow
def test_the_code_of_the_page_reads_an_image(image_run, exported, tmp_path):
    (code,) = [
        each
        for each in re.findall(r"(?s)```python\n(.*?)```", PAGE.read_text(encoding="utf-8"))
        if "read_lines" in each
    ]
    draw_line("12ab").save(tmp_path / "line1.png")
    code = code.replace('"reader"', repr(str(exported[0])))
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    (found,) = load_recognizer(image_run, device="cpu").recognize([tmp_path / "line1.png"])
    assert told.stdout == f"{found.text}\n"


@pytest.mark.parametrize("head", ["ctc", "attention"])
def test_text_and_confidence_are_those_of_the_run(image_run, exported, head):
    recognizer = load_recognizer(image_run, device="cpu", head=head)
    reader = onnx_reader.LineReader(exported[0], head=head)
    for image in (draw_line("abc 012"), draw_line("7", size=40)):
        (ours,) = recognizer.recognize([image])
        text, confidence = reader.read(np.asarray(image)[..., None])
        assert text == ours.text
        assert confidence == pytest.approx(ours.confidence, abs=1e-4)


def test_files_of_any_mode_become_the_same_pixels(image_run, exported, tmp_path):
    reader, recognizer = onnx_reader.LineReader(exported[0]), load_recognizer(image_run, device="cpu")
    line = draw_line("12ab")
    alpha = Image.merge("LA", (line, line.point(lambda each: 255 - each)))
    sixteen = Image.fromarray(np.asarray(line).astype(np.uint16) * 257)
    turned = line.transpose(Image.Transpose.ROTATE_90)
    exif = Image.Exif()
    exif[0x0112] = 6  # turned clockwise to be upright
    for number, (image, options) in enumerate(
        (
            (line, {}),
            (line.convert("P"), {}),
            (line.convert("1"), {}),
            (alpha, {}),
            (sixteen, {}),
            (line.convert("RGBA"), {}),
            (turned, {"exif": exif}),
        )
    ):
        path = tmp_path / f"{number}.png"
        image.save(path, **options)
        expected = np.asarray(opened(path, recognizer.reader.images))
        assert np.array_equal(reader.pixels_of(path)[..., 0], expected), image.mode


def test_a_head_that_the_model_lacks_is_refused_and_logits_become_log_probabilities(exported):
    with pytest.raises(ValueError, match="got 'beam'; the model has attention and ctc"):
        onnx_reader.LineReader(exported[0], head="beam")
    logits = np.random.default_rng(1).normal(size=(3, 5)).astype(np.float32) * 30
    expected = torch.from_numpy(logits).log_softmax(-1).numpy()
    assert onnx_reader.log_softmax(logits) == pytest.approx(expected, abs=1e-5)
