import io
import math

import numpy as np
import pytest
import torch
from PIL import Image

from trimtab.tasks.detection.average_precision import Found
from trimtab.tasks.detection.batches import BoxGlobalBatch
from trimtab.tasks.detection.letterbox import Letterbox
from trimtab.tasks.detection.model import Predictions
from trimtab.tasks.detection.validation import FOUND, SIDE, example_losses, loss_of, objects_of, sample_sheet
from trimtab.tasks.images.sheet import GAP


def test_the_loss_of_a_set_is_that_of_its_images_by_their_boxes(parts):
    valid = next(iter(parts.datasets.valid.values()))
    whole = loss_of(parts, parts.model, valid)
    sample = parts.datasets.sample
    window = BoxGlobalBatch.of_rows(sample.source.between(0, 4), sample.target.between(0, 4))
    found = example_losses(parts, window)
    assert np.isfinite(found.loss).all()
    assert found.targets.tolist() == sample.target.values[:4].tolist()
    assert math.isfinite(whole)


def test_a_box_may_have_several_categories_and_the_best_come_first():
    logits = torch.tensor([[[[2.0, 1.0], [-3.0, 3.0]]]])
    boxes = torch.tensor([[[[0.5, 0.5, 0.5, 0.5], [0.25, 0.25, 0.5, 0.5]]]])
    letterbox = Letterbox(100, 50, 64, 32, 64, 64)
    (found,) = objects_of(Predictions(logits, boxes), [letterbox], softmax=False)
    assert found.categories.tolist() == [1, 0, 1, 0]
    assert found.scores == pytest.approx(torch.tensor([3.0, 2.0, 1.0, -3.0]).sigmoid().numpy())
    assert found.boxes[0].tolist() == pytest.approx([0, 0, 50, 50])
    assert found.boxes[1].tolist() == pytest.approx([25, 25, 75, 50])  # cut off at the edge of the image


def test_no_object_is_no_category():
    logits = torch.tensor([[[[0.0, 9.0]]]])
    boxes = torch.full((1, 1, 1, 4), 0.5)
    (found,) = objects_of(Predictions(logits, boxes), [Letterbox(8, 8, 8, 8, 8, 8)], softmax=True)
    assert found.categories.tolist() == [0]
    assert found.scores[0] < 0.01


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
