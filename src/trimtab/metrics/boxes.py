"""Metrics of boxes that a detector predicts: average precision, and how far it predicts too many."""

from operator import attrgetter

from trimtab.metrics.metric import BoxMetric

AP = BoxMetric(
    name="ap",
    label="AP",
    about="COCO's average precision, the mean over IoU from 0.50 to 0.95 and over categories",
    compute=attrgetter("ap"),
)
AP50 = BoxMetric(
    name="ap50", label="AP50", about="average precision at an IoU of 0.50", compute=attrgetter("ap50")
)
AP75 = BoxMetric(
    name="ap75", label="AP75", about="average precision at an IoU of 0.75", compute=attrgetter("ap75")
)
AP_NMS = BoxMetric(
    name="ap_nms",
    label="AP NMS",
    about="AP after `model.nms` has removed duplicates",
    compute=attrgetter("ap_nms"),
)
AP50_NMS = BoxMetric(
    name="ap50_nms",
    label="AP50 NMS",
    about="AP50 after `model.nms`",
    compute=attrgetter("ap50_nms"),
    brief=False,
)
PRECISION50 = BoxMetric(
    name="precision50",
    label="P50",
    about="share of predictions of at least `model.score_threshold` that hit an object with an IoU of 0.50",
    compute=attrgetter("precision50"),
    brief=False,
)
RECALL50 = BoxMetric(
    name="recall50",
    label="R50",
    about="share of objects that such a prediction hits",
    compute=attrgetter("recall50"),
    brief=False,
)
PRECISION50_NMS = BoxMetric(
    name="precision50_nms",
    label="P50 NMS",
    about="precision50 after `model.nms`",
    compute=attrgetter("precision50_nms"),
    brief=False,
)
RECALL50_NMS = BoxMetric(
    name="recall50_nms",
    label="R50 NMS",
    about="recall50 after `model.nms`",
    compute=attrgetter("recall50_nms"),
    brief=False,
)
PREDICTIONS_PER_OBJECT = BoxMetric(
    name="predictions_per_object",
    label="per object",
    about="predictions of at least `model.score_threshold` for each object; a detector that overpredicts is above 1",
    compute=attrgetter("predictions_per_object"),
    lower_is_better=True,
)
PREDICTIONS_PER_OBJECT_NMS = BoxMetric(
    name="predictions_per_object_nms",
    label="per object NMS",
    about="the same after `model.nms`",
    compute=attrgetter("predictions_per_object_nms"),
    lower_is_better=True,
    brief=False,
)
OF_BOXES: tuple[BoxMetric, ...] = (
    AP,
    AP50,
    AP75,
    AP_NMS,
    AP50_NMS,
    PRECISION50,
    RECALL50,
    PRECISION50_NMS,
    RECALL50_NMS,
    PREDICTIONS_PER_OBJECT,
    PREDICTIONS_PER_OBJECT_NMS,
)
