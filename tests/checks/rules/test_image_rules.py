"""Rules that read recipes of images, and rules on text that must leave them alone."""

from pathlib import Path

from tests.checks.rules.findings import findings, severities
from tests.for_each import for_each
from trimtab.checks.rules import (
    d134_lines_scaled_by_longest_side as by_longest_side,
)
from trimtab.checks.rules import (
    l105_label_smoothing_too_strong as smoothing,
)
from trimtab.checks.rules import (
    m329_batch_norm_frozen_from_scratch as frozen,
)
from trimtab.checks.rules import (
    s115_second_moment_horizon as horizon,
)

RECIPES = Path(__file__).parents[3] / "recipes"


def found(rule, name, *changes):
    text = (RECIPES / f"{name}.yaml").read_text()
    for one, other in changes:
        assert one in text
        text = text.replace(one, other)
    return severities(rule, "recipe.yaml", text)


@for_each(
    ("norms", "told"),
    [
        ("batch_norm: frozen", ["warning"]),
        ("batch_norm: live", []),
        ("batch_norm: frozen, warm_start: ../run", []),
    ],
)
def test_frozen_norms_of_a_detector_need_trained_weights(norms, told):
    assert found(frozen, "detection", ("queries: 60", f"queries: 60, {norms}")) == told


SCRIPT = "from transformers import DFineConfig, DFineForObjectDetection, Trainer\n{}\nTrainer(model=model).train()\n"


@for_each(
    ("lines", "told"),
    [
        ("config = DFineConfig()\nmodel = DFineForObjectDetection(config)", ["warning"]),
        ("model = DFineForObjectDetection(DFineConfig(freeze_backbone_batch_norms=True))", ["warning"]),
        ("c = DFineConfig()\nc.freeze_backbone_batch_norms = False\nmodel = DFineForObjectDetection(c)", []),
        ('model = DFineForObjectDetection.from_pretrained("x")', []),
        ("model = DFineForObjectDetection(DFineConfig())\nmodel.load_state_dict(weights)", []),
    ],
)
def test_frozen_norms_of_a_script_need_trained_weights(lines, told):
    assert severities(frozen, "train.py", SCRIPT.format(lines)) == told


@for_each(
    ("images", "told"),
    [
        ("{size: 32, fit: longest}", ["warning"]),
        ("{size: 400, fit: longest}", []),
        ("{size: 32, fit: height}", []),
        ("{size: 32}", []),
    ],
)
def test_lines_scaled_by_their_longest_side_stay_legible(images, told):
    assert found(by_longest_side, "recognition", ("{size: 32, max_width: 768}", images)) == told


def test_a_classifier_is_told_of_classes_and_not_of_a_vocabulary():
    text = (RECIPES / "image_classification.yaml").read_text() + "loss: {label_smoothing: 0.3}\n"
    [each] = findings(smoothing, "recipe.yaml", text)
    assert "with 10 classes the loss cannot fall below 1.18 nats" in each.finding.message


@for_each(("name",), [("autoencoder_emoji",), ("detection",), ("diffusion_demo",), ("image_classification",)])
def test_images_of_a_step_are_no_tokens(name):
    assert found(horizon, name) == []
