import io

import numpy as np
from PIL import Image

from trimtab.tasks.detection.average_precision import Found
from trimtab.tasks.detection.sample_sheet import FOUND, SIDE, sample_sheet
from trimtab.tasks.images.sheet import GAP


def boxes(*rows):
    return Found(np.array(rows, float).reshape(-1, 4), np.zeros(len(rows), int), np.ones(len(rows)))


def test_true_objects_are_areas_and_predictions_are_outlines():
    image = Image.new("L", (2 * SIDE, SIDE), 255)
    content = sample_sheet([image], [boxes((0, 0, 200, 200))], [boxes((400, 200, 600, 400))])
    sheet = Image.open(io.BytesIO(content)).convert("RGB")
    assert sheet.size == (SIDE + 2 * GAP, SIDE // 2 + 2 * GAP)
    red, green, blue = sheet.getpixel((GAP + 50, GAP + 50))
    assert green > max(red, blue)
    assert sheet.getpixel((GAP + 200, GAP + 150)) == FOUND[:3]
    assert sheet.getpixel((GAP + 250, GAP + 150)) == (255, 255, 255)


def test_images_without_objects_are_shown():
    images = [Image.new("RGB", (1, 300), "red"), Image.new("RGB", (300, 1), "red")]
    assert sample_sheet(images, [boxes()] * 2, [boxes()] * 2).startswith(b"\x89PNG")
