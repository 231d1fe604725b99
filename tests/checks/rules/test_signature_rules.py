"""Calls, names and overrides that the newest libraries refuse, and those that they take."""

from tests.checks.rules.findings import findings, severities
from tests.for_each import for_each
from trimtab.checks.rules import c108_key_removed, c125_call_refused, c126_override_of_another_signature

NEW = "transformers=5.24.0 trl=1.16.0 peft=0.21.2 accelerate=1.15.0 lightning=2.6.6"
REST = "loss.backward()\n"
"""What makes a script one of training, which is followed."""
OLD = "transformers=4.40.0 trl=0.9.0 peft=0.8.0 accelerate=0.28.0 lightning=1.9.0"


def said(rule, text, versions=NEW):
    return severities(rule, "train.py", "import torch\n" + text + REST, versions=versions)


@for_each(
    ("text", "mend"),
    [
        ("import lightning as L\nL.Trainer(gpus=1)\n", "accelerator="),
        ("import pytorch_lightning as pl\npl.Trainer(max_epochs=3, auto_lr_find=True)\n", "Tuner"),
        ("from lightning.pytorch import Trainer\nTrainer(resume_from_checkpoint='a.ckpt')\n", "ckpt_path"),
        ("from lightning.pytorch.callbacks import ModelCheckpoint\nModelCheckpoint(period=1)\n", "remove"),
        ("from trl import SFTTrainer\nSFTTrainer(model=model, args=args, max_length=512)\n", "SFTConfig"),
        ("from trl import GRPOTrainer\nGRPOTrainer(model=model, reward_func=f)\n", "reward_funcs"),
        ("from accelerate import Accelerator\nAccelerator(dispatch_batches=True)\n", "DataLoaderConfiguration"),
        ("from peft import IA3Config\nIA3Config(target_module=['k'])\n", "target_modules"),
        ("from transformers import EarlyStoppingCallback\nEarlyStoppingCallback(patience=3)\n", "early_stopping_"),
        ("from transformers import Trainer\nTrainer(model=model, args=args, lr=1e-4)\n", "TrainingArguments"),
    ],
)  # fmt: skip
def test_a_keyword_that_a_call_has_not_is_named_with_what_to_write(text, mend):
    found = findings(c125_call_refused, "train.py", text + REST, versions=NEW)
    assert [each.finding.severity for each in found] == ["error"]
    assert mend in found[0].finding.fix
    assert said(c125_call_refused, text, versions="") == ["warning"]
    assert said(c125_call_refused, text, versions=OLD) == []


@for_each(
    "text",
    [
        "import lightning as L\nL.Trainer(accelerator='gpu', devices=1, strategy='ddp', max_steps=9)\n",
        "from trl import SFTTrainer\nSFTTrainer(model=model, args=args, processing_class=t, peft_config=c)\n",
        "from accelerate import Accelerator\nAccelerator(mixed_precision='bf16', log_with='wandb')\n",
        "from peft import get_peft_model\nget_peft_model(model, config, adapter_name='a')\n",
        "from trl import SFTTrainer\nSFTTrainer(model=model, **options)\n",
        "from mine import Trainer\nTrainer(gpus=1)\n",
        "import pytest\nimport lightning as L\nwith pytest.raises(TypeError):\n    L.Trainer(gpus=1)\n",
        "import unsloth\nfrom trl import SFTTrainer\nSFTTrainer(model=model, max_length=9)\n",
    ],
)
def test_what_a_call_takes_is_left_alone(text):
    assert said(c125_call_refused, text) == []


@for_each(
    "name",
    ["trl.PPOTrainer", "trl.DataCollatorForCompletionOnlyLM", "trl.ORPOTrainer", "trl.setup_chat_format",
     "transformers.AutoModelForVision2Seq", "transformers.BeamSearchScorer", "trl.AutoModelForCausalLMWithValueHead"],
)  # fmt: skip
def test_a_name_that_only_older_versions_have_is_gone(name):
    package, _, last = name.partition(".")
    text = f"from {package} import {last}\nmade = {last}(config)\n"
    assert said(c108_key_removed, text) == ["error"]
    assert said(c108_key_removed, text, versions="") == ["warning"]
    assert said(c108_key_removed, text, versions=OLD) == []


TRAINER = "from transformers import Trainer\nclass Mine(Trainer):\n    def {0}:\n        pass\n"
MODULE = "import lightning as L\nclass Net(L.LightningModule):\n    def {0}:\n        pass\n"


@for_each(
    "text",
    [
        TRAINER.format("compute_loss(self, model, inputs, return_outputs=False)"),
        TRAINER.format("training_step(self, model, inputs)"),
        TRAINER.format("log(self, logs)"),
        TRAINER.format("prediction_step(self, model, inputs, prediction_loss_only)"),
        TRAINER.format("compute_loss(self, model, inputs)"),
        TRAINER.format("log(self, logs)").replace("import Trainer", "import Seq2SeqTrainer as Trainer"),
        TRAINER.format("log(self, logs)").replace("transformers import", "trl import SFTTrainer as"),
        MODULE.format("training_epoch_end(self, outputs)"),
        MODULE.format("validation_epoch_end(self, outputs)"),
        MODULE.format("lr_scheduler_step(self, scheduler, optimizer_idx, metric)"),
        MODULE.format("test_epoch_end(self, outs)").replace("import lightning as L", "import pytorch_lightning as L"),
    ],
)  # fmt: skip
def test_an_override_takes_what_it_is_called_with(text):
    assert said(c126_override_of_another_signature, text) == ["error"]
    assert said(c126_override_of_another_signature, text, versions="") == ["warning"]
    assert said(c126_override_of_another_signature, text, versions=OLD) == []


@for_each(
    "text",
    [
        TRAINER.format("compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None)"),
        TRAINER.format("compute_loss(self, model, inputs, return_outputs=False, **kwargs)"),
        TRAINER.format("training_step(self, *args, **kwargs)"),
        TRAINER.format("log(self, logs, start_time=None)"),
        TRAINER.format("helper(self)"),
        MODULE.format("on_train_epoch_end(self)"),
        MODULE.format("training_step(self, batch, batch_idx)"),
        MODULE.format("lr_scheduler_step(self, scheduler, metric)"),
        MODULE.format("optimizer_step(self, epoch, batch_idx, optimizer, optimizer_closure)"),
        "class Trainer:\n    pass\n" + TRAINER.format("log(self, logs)").partition("\n")[2],
    ],
)
def test_an_override_of_today_is_left_alone(text):
    assert said(c126_override_of_another_signature, "import transformers\n" + text) == []
