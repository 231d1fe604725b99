import pytest
import torch

from trimtab.config.detector_model import DetectorModel
from trimtab.config.loss import BoxLoss
from trimtab.loss.box_iou import box_iou, corners
from trimtab.tasks.detection.batches import BoxBatch
from trimtab.tasks.detection.losses import DetectionLoss, classification_of
from trimtab.tasks.detection.model import Predictions

MODEL = DetectorModel(preset="tiny")


def batch(counts):
    torch.manual_seed(1)
    total = sum(counts)
    boxes = torch.cat([torch.rand(total, 2) * 0.6 + 0.2, torch.rand(total, 2) * 0.2 + 0.1], 1)
    return BoxBatch(
        pixels=torch.zeros(len(counts), 3, 32, 32, dtype=torch.uint8),
        inner=torch.full((len(counts), 2), 32),
        boxes=boxes,
        categories=torch.arange(total) % 2,
        counts=tuple(counts),
        num_targets=total,
    )


def predictions(images, layers=3, categories=2):
    torch.manual_seed(2)
    boxes = torch.cat([torch.rand(layers, images, 6, 2), torch.rand(layers, images, 6, 2) * 0.3 + 0.05], -1)
    return Predictions(torch.randn(layers, images, 6, categories), boxes)


@pytest.mark.parametrize("kind", ["giou", "diou", "ciou"])
def test_perfect_predictions_leave_the_classes_alone(kind):
    given = batch([2, 1])
    found = predictions(2)
    first = 0
    for image, count in enumerate(given.counts):
        found.boxes[:, image, :count] = given.boxes[first : first + count]
        first += count
    loss = DetectionLoss(BoxLoss(iou=kind, class_weight=1e-9), MODEL)
    assert float(loss.by_image(found, given).abs().max()) < 1e-4


def test_the_terms_are_those_of_the_recipe():
    given, found = batch([1]), predictions(1, layers=1)
    found.boxes[:, :, 1:] = 0.001
    only = {"class_weight": 1e-9, "l1_weight": 0.0, "iou_weight": 0.0}
    one, wanted = found.boxes[0, 0, 0], given.boxes[0]
    l1 = DetectionLoss(BoxLoss(**{**only, "l1_weight": 5.0}), MODEL).by_image(found, given)
    assert float(l1) == pytest.approx(5 * float((one - wanted).abs().sum()), rel=1e-4)
    ciou = DetectionLoss(BoxLoss(**{**only, "iou_weight": 2.0}), MODEL).by_image(found, given)
    assert float(ciou) == pytest.approx(
        2 * (1 - float(box_iou(corners(one), corners(wanted), "ciou"))), rel=1e-4
    )


@pytest.mark.parametrize("classification", ["varifocal", "focal", "softmax"])
def test_the_loss_of_images_is_the_sum_of_their_own_losses(classification):
    model = DetectorModel(preset="tiny", architecture="detr")
    loss = DetectionLoss(BoxLoss(classification=classification), model)
    counts, found = [2, 0, 3], predictions(3, categories=3)
    given = batch(counts)
    whole = loss.by_image(found, given)
    first = 0
    for image, count in enumerate(counts):
        own = BoxBatch(
            given.pixels[:1], given.inner[:1], given.boxes[first : first + count],
            given.categories[first : first + count], (count,), count,
        )  # fmt: skip
        part = Predictions(found.logits[:, image : image + 1], found.boxes[:, image : image + 1])
        assert torch.allclose(loss.by_image(part, own)[:, 0], whole[:, image], rtol=1e-5)
        first += count


@pytest.mark.parametrize("counts", [[0], [0, 0], [6, 6]])
def test_images_without_boxes_and_full_ones_have_finite_losses_and_gradients(counts):
    found = predictions(len(counts))
    found.logits.requires_grad_()
    found.boxes.requires_grad_()
    total = DetectionLoss(BoxLoss(), MODEL).by_image(found, batch(counts)).sum()
    total.backward()
    assert total.isfinite()
    assert found.logits.grad.isfinite().all()


def test_what_auto_means():
    assert classification_of(BoxLoss(), MODEL) == "varifocal"
    assert classification_of(BoxLoss(classification="focal"), MODEL) == "focal"
    detr = DetectorModel(preset="tiny", architecture="detr")
    assert classification_of(BoxLoss(), detr) == "focal"
    assert classification_of(BoxLoss(), detr.model_copy(update={"path": "folder"})) == "softmax"
