import pytest

from tests.checks.kinds.describing import document
from tests.for_each import for_each
from trimtab.checks.read.flow.lightning import fitted, method, method_around, modules, steps_itself, trainers
from trimtab.checks.read.flow.of import flow_of

SCRIPT = """
import lightning as L
class Model(L.LightningModule):
    {switch}
    def __init__(self):
        super().__init__()
        {line}
    def training_step(self, batch):
        self.manual_backward(self.net(batch))
class Data(L.LightningDataModule):
    pass
trainer = L.Trainer(max_epochs=1)
trainer.fit({model}, Data())
"""


def script(*, switch="pass", line="pass", model="Model()"):
    return document("a.py", SCRIPT.format(switch=switch, line=line, model=model))


def test_modules_and_trainers_are_known_by_what_they_come_from():
    read = script()
    assert [each.name for each in modules(read)] == ["Model"]
    assert [event.name for event in trainers(read)] == ["Trainer"]
    assert (
        list(trainers(document("a.py", "import lightning\nfrom transformers import Trainer\nTrainer(m)\n")))
        == []
    )


@for_each(
    ("how", "expected"),
    [
        ({}, False),
        ({"switch": "automatic_optimization = False"}, True),
        ({"line": "self.automatic_optimization = False"}, True),
        ({"line": "self.automatic_optimization = True"}, False),
    ],
)
def test_a_module_steps_itself_where_it_says_so(how, expected):
    read = script(**how)
    (module,) = modules(read)
    assert steps_itself(flow_of(read), module) is expected


@pytest.mark.parametrize(("model", "name"), [("Model()", "Model"), ("load()", None)])
def test_what_a_trainer_fits_is_the_class_of_its_object(model, name):
    read = script(model=model)
    (trainer,) = trainers(read)
    module = fitted(flow_of(read), trainer.value)
    assert (None if module is None else module.name) == name


def test_methods_are_found_in_the_class_and_around_an_event():
    read = script()
    (module,) = modules(read)
    assert method(module, "training_step").name == "training_step"
    assert method(module, "configure_optimizers") is None
    (event,) = flow_of(read).named("manual_backward")
    assert (method_around(event, "training_step"), method_around(event, "validation_step")) == (True, False)
