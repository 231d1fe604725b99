from tests.checks.rules.findings import runs_of
from trimtab.checks.read.flow.trainers import configuration, is_set, trainers

SCRIPT = (
    "from transformers import Trainer, TrainingArguments\n"
    "args = TrainingArguments('out', max_steps=3)\nargs.seed = 1\n"
    "Trainer(model=model, args=args).train()\nTrainer(**rest)\n"
)


def test_trainers_with_their_configuration():
    (run,) = runs_of("train.py", SCRIPT)
    (trainer,) = trainers(run)
    made = configuration(trainer.value)
    assert is_set(made, "max_steps")
    assert is_set(made, "seed")
    assert not is_set(made, "num_train_epochs")


def test_a_configuration_that_cannot_be_seen_is_none():
    (run,) = runs_of("train.py", SCRIPT.replace("args=args", "args=parse()"))
    (trainer,) = trainers(run)
    assert configuration(trainer.value) is None
