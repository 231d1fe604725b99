import pytest

from tests.checks.kinds.describing import document, words
from tests.for_each import for_each
from trimtab.checks.kinds.scripts.lightning import lightning_concepts


def told(arguments, head="import lightning as L", name="L.Trainer"):
    return words(lightning_concepts(document("a.py", f"{head}\n{name}({arguments})\n")))


def test_a_trainer_tells_its_run():
    found = told("accumulate_grad_batches=4, gradient_clip_val=0.5, devices=2, max_epochs=3")
    assert found == {"accumulation": 4, "clip": 0.5, "devices": 2, "epochs": 3}


@for_each(
    ("precision", "expected"),
    [
        ("16", {"autocast": "fp16"}),
        ("'16-mixed'", {"autocast": "fp16"}),
        ("'bf16'", {"autocast": "bf16"}),
        ("'bf16-mixed'", {"autocast": "bf16"}),
        ("'bf16-true'", {"weights_dtype": "bf16"}),
        ("'16-true'", {"weights_dtype": "fp16"}),
        ("'32-true'", {"autocast": "none"}),
        ("'transformer-engine'", {}),
        ("args.precision", {}),
    ],
)
def test_a_precision_is_autocast_or_a_type_of_weights(precision, expected):
    assert told(f"precision={precision}") == expected


def test_values_that_leave_it_to_the_machine_say_nothing():
    assert told("devices='auto', max_epochs=-1, max_steps=-1") == {}
    assert told("devices=-1, max_steps=100, max_epochs=2") == {"steps": 100}


def test_clipping_by_value_is_no_clipping_of_the_norm():
    assert told("gradient_clip_val=0.5, gradient_clip_algorithm='value'") == {}


@pytest.mark.parametrize(
    ("head", "name"),
    [
        ("from transformers import Trainer\nimport lightning", "Trainer"),
        ("import transformers", "transformers.Trainer"),
        ("import lightning as L\nL.Trainer(devices=2)", "L.Trainer"),
    ],
)
def test_other_trainers_and_several_say_nothing(head, name):
    assert told("devices=1", head, name) == {}


@pytest.mark.parametrize(
    ("head", "name"),
    [
        ("from lightning.pytorch import Trainer", "Trainer"),
        ("import lightning.pytorch as pl", "pl.Trainer"),
        ("import pytorch_lightning as pl", "pl.Trainer"),
    ],
)
def test_each_way_to_import_it_is_known(head, name):
    assert told("devices=2", head, name) == {"devices": 2}
