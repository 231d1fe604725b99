"""Loops that Lightning or Accelerate runs: further inputs of each kind, and twins that are right."""

from textwrap import dedent

import pytest

from tests.checks.rules.findings import findings, severities
from tests.for_each import for_each
from trimtab.checks.rules import (
    c124_trainer_refuses,
    e108_evaluation_mode_left_on,
    p118_layer_of_another_model_wrapped,
    s137_gradients_never_cleared,
    s140_rate_beyond_any_use,
    s146_schedule_of_steps_by_epochs,
    s147_loss_divided_twice,
    s148_backward_past_the_accelerator,
    s301_updates_round_away,
)

LIGHTNING = (
    "import lightning as L\nimport torch\n"
    "from transformers import get_cosine_schedule_with_warmup, get_linear_schedule_with_warmup\n"
)
MODULE = """
class Model(L.LightningModule):
    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=1e-4)
        {schedule}
        return {returned}
"""
ACCELERATE = "import torch\nfrom accelerate import Accelerator\n"


def fires(rule, text):
    return len(findings(rule, "train.py", dedent(text))) > 0


def scheduled(schedule, returned):
    return LIGHTNING + MODULE.format(schedule=schedule, returned=returned)


@for_each(
    ("schedule", "returned"),
    [
        (
            "s = get_linear_schedule_with_warmup(opt, 100, self.trainer.estimated_stepping_batches)",
            "[opt], [s]",
        ),
        (
            "s = get_cosine_schedule_with_warmup(opt, num_warmup_steps=9, num_training_steps=self.total_steps)",
            "{'optimizer': opt, 'lr_scheduler': s}",
        ),
        (
            "s = get_linear_schedule_with_warmup(opt, 100, num_training_steps=3 * len(self.data))",
            "{'optimizer': opt, 'lr_scheduler': {'scheduler': s}}",
        ),
        ("s = torch.optim.lr_scheduler.OneCycleLR(opt, 1e-3, total_steps=20_000)", "[opt], [s]"),
        ("s = torch.optim.lr_scheduler.OneCycleLR(opt, 1e-3, steps_per_epoch=9, epochs=3)", "[opt], [s]"),
        ("n = 1", "[opt], [get_linear_schedule_with_warmup(opt, 100, 50_000)]"),
    ],
)
def test_a_schedule_of_steps_that_lightning_steps_by_epochs_is_named(schedule, returned):
    assert fires(s146_schedule_of_steps_by_epochs, scheduled(schedule, returned))


@for_each(
    ("schedule", "returned"),
    [
        (
            "s = get_linear_schedule_with_warmup(opt, 100, self.trainer.estimated_stepping_batches)",
            "{'optimizer': opt, 'lr_scheduler': {'scheduler': s, 'interval': 'step'}}",
        ),
        (
            "s = get_linear_schedule_with_warmup(opt, 100, self.steps)\n"
            "        config = dict(scheduler=s, interval='step')",
            "{'optimizer': opt, 'lr_scheduler': config}",
        ),
        ("s = get_linear_schedule_with_warmup(opt, 2, self.trainer.max_epochs)", "[opt], [s]"),
        ("s = get_cosine_schedule_with_warmup(opt, 5, 100)", "[opt], [s]"),
        ("s = torch.optim.lr_scheduler.StepLR(opt, 5)", "[opt], [s]"),
        ("s = get_linear_schedule_with_warmup(opt, 100, self.steps)", "configured(opt, s)"),
    ],
)
def test_schedules_that_are_stepped_as_they_count_are_left_alone(schedule, returned):
    assert not fires(s146_schedule_of_steps_by_epochs, scheduled(schedule, returned))


def test_a_module_that_steps_the_schedule_itself_is_left_alone():
    text = scheduled("s = get_linear_schedule_with_warmup(opt, 100, self.total_steps)", "[opt], [s]")
    hook = "    def lr_scheduler_step(self, scheduler, metric):\n        scheduler.step()\n"
    assert not fires(s146_schedule_of_steps_by_epochs, text + hook)


MANUAL = """
import lightning as L
import torch
class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
    def training_step(self, batch, i):
        opt = self.optimizers()
        {clear}
        self.manual_backward(self.net(batch).mean())
        opt.step()
model = Model()
L.Trainer({arguments}).fit(model)
"""


@pytest.mark.parametrize(
    "arguments", ["gradient_clip_val=1.0", "accumulate_grad_batches=8", "max_epochs=1, gradient_clip_val=0.5"]
)
def test_lightning_refuses_what_only_its_own_optimization_does(arguments):
    assert severities(c124_trainer_refuses, "train.py", MANUAL.format(arguments=arguments, clear="")) == [
        "error"
    ]


@for_each("arguments", ["", "gradient_clip_val=0.0", "accumulate_grad_batches=1", "max_steps=9"])
def test_lightning_takes_the_rest(arguments):
    assert not fires(c124_trainer_refuses, MANUAL.format(arguments=arguments, clear=""))


def test_automatic_optimization_may_clip_and_accumulate():
    text = MANUAL.format(arguments="gradient_clip_val=1.0, accumulate_grad_batches=8", clear="")
    assert not fires(c124_trainer_refuses, text.replace("= False", "= True"))


def test_a_training_step_that_goes_backward_itself_has_to_clear_gradients():
    assert fires(s137_gradients_never_cleared, MANUAL.format(arguments="", clear=""))
    assert not fires(s137_gradients_never_cleared, MANUAL.format(arguments="", clear="opt.zero_grad()"))


def test_bf16_weights_of_lightning_are_weights():
    text = LIGHTNING + MODULE.format(schedule="", returned="opt") + "trainer = L.Trainer(precision={})\n"
    text = text.replace("lr=1e-4", "lr=1e-5")
    assert severities(s301_updates_round_away, "train.py", text.format("'bf16-true'")) == ["warning"]
    assert not fires(s301_updates_round_away, text.format("'bf16-mixed'"))
    assert severities(s301_updates_round_away, "train.py", text.format("'bf16-true', strategy=s")) == ["note"]


LOOP = """
accelerator = Accelerator({made})
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for batch in loader:
    with accelerator.accumulate(model):
        loss = model(**batch).loss
        {backward}
        optimizer.step()
        optimizer.zero_grad()
"""


@for_each(
    ("made", "backward"),
    [
        ("gradient_accumulation_steps=4", "accelerator.backward(loss / 4)"),
        (
            "gradient_accumulation_steps=4",
            "accelerator.backward(loss / accelerator.gradient_accumulation_steps)",
        ),
        (
            "gradient_accumulation_steps=args.gradient_accumulation_steps",
            "loss = loss / args.gradient_accumulation_steps\n        accelerator.backward(loss)",
        ),
        ("gradient_accumulation_steps=accum", "loss /= accum\n        accelerator.backward(loss)"),
        ("'fp16', gradient_accumulation_steps=16", "accelerator.backward(loss / 16)"),
    ],
)
def test_a_loss_that_is_divided_twice_is_named(made, backward):
    assert fires(s147_loss_divided_twice, ACCELERATE + LOOP.format(made=made, backward=backward))


@for_each(
    ("made", "backward"),
    [
        ("gradient_accumulation_steps=4", "accelerator.backward(loss)"),
        ("gradient_accumulation_steps=4", "accelerator.backward(loss / batch_size)"),
        ("gradient_accumulation_steps=4", "accelerator.backward(loss / 2)"),
        ("gradient_accumulation_steps=1", "accelerator.backward(loss / args.accumulation)"),
        ("", "accelerator.backward(loss / args.accumulation)"),
        ("**options", "accelerator.backward(loss / args.accumulation)"),
    ],
)
def test_other_divisions_are_left_alone(made, backward):
    assert not fires(s147_loss_divided_twice, ACCELERATE + LOOP.format(made=made, backward=backward))


@for_each(
    "made",
    [
        "mixed_precision='fp16'",
        "mixed_precision='fp16', cpu=False",
        "gradient_accumulation_steps=4",
        "gradient_accumulation_steps=2, mixed_precision='bf16'",
        "gradient_accumulation_steps=4, mixed_precision='fp16'",
    ],
)
def test_a_backward_pass_past_the_accelerator_is_named(made):
    text = ACCELERATE + LOOP.format(made=made, backward="loss.backward()")
    assert severities(s148_backward_past_the_accelerator, "train.py", text) == ["error"]


@for_each(
    ("made", "backward"),
    [
        ("mixed_precision='fp16'", "accelerator.backward(loss)"),
        ("mixed_precision='bf16'", "loss.backward()"),
        ("gradient_accumulation_steps=1, mixed_precision='no'", "loss.backward()"),
    ],
)
def test_a_backward_pass_with_nothing_to_add_is_left_alone(made, backward):
    assert not fires(
        s148_backward_past_the_accelerator, ACCELERATE + LOOP.format(made=made, backward=backward)
    )


@for_each("made", ["", "gradient_accumulation_steps=1", "mixed_precision=args.precision"])
def test_a_backward_pass_is_warned_of_where_the_launcher_may_add_something(made):
    text = ACCELERATE + LOOP.format(made=made, backward="loss.backward()")
    assert severities(s148_backward_past_the_accelerator, "train.py", text) == ["warning"]


RATED = """
import argparse
import torch
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default={rate})
args = parser.parse_args()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
"""


def test_the_default_of_an_option_is_a_warning_where_a_written_value_is_an_error():
    assert severities(s140_rate_beyond_any_use, "train.py", RATED.format(rate="5.0")) == ["warning"]
    assert severities(s140_rate_beyond_any_use, "train.py", RATED.format(rate="5e-4")) == []
    assert severities(s140_rate_beyond_any_use, "train.py", RATED.replace("args.lr", "5.0")) == ["error"]


FSDP = "distributed_type: FSDP\nfsdp_config:\n  fsdp_transformer_layer_cls_to_wrap: {layer}\n"
SCRIPT = 'from transformers import AutoModel\nmodel = AutoModel.from_pretrained("{name}")\n'


def launched(layer, name):
    beside = (("fsdp.yaml", FSDP.format(layer=layer)), ("train.py", SCRIPT.format(name=name)))
    line = "accelerate launch --config_file fsdp.yaml train.py\n"
    return severities(p118_layer_of_another_model_wrapped, "run.sh", line, beside=beside)


@for_each(
    ("layer", "name"),
    [
        ("BertLayer", "FacebookAI/xlm-roberta-base"),
        ("LlamaDecoderLayer", "Qwen/Qwen2.5-7B"),
        ("GPT2Block", "meta-llama/Llama-3.1-8B"),
        ("T5Block", "google/mt5-base"),
        ("'MistralDecoderLayer,LlamaDecoderLayer'", "mistralai/Mistral-7B-v0.1"),
    ],
)
def test_a_launch_file_for_another_model_is_named(layer, name):
    assert launched(layer, name) == ["error"]


@for_each(
    ("layer", "name"),
    [
        ("BertLayer", "google-bert/bert-base-uncased"),
        ("MixtralSparseMoeBlock", "mistralai/Mixtral-8x7B-v0.1"),
        ("OurOwnLayer", "meta-llama/Llama-3.1-8B"),
        ("BertLayer", "me/mine"),
    ],
)
def test_a_launch_file_for_this_model_or_one_that_is_not_known_is_left_alone(layer, name):
    assert launched(layer, name) == []


BOTH = """
import torch
from torch import nn
def train(args, model, {second}, loader, optimizer):
    if args.n_gpu > 1:
        model = nn.DataParallel(model)
    for batch in loader:
        model.train()
        {off}
        loss = model(batch).loss + {second}(batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
"""


def test_a_second_model_that_only_helps_may_stay_in_evaluation_mode():
    text = BOTH.format(second="first_stage", off="first_stage.eval()")
    assert not fires(e108_evaluation_mode_left_on, text)


def test_methods_of_a_model_that_is_wrapped_in_one_branch_are_seen():
    assert not fires(e108_evaluation_mode_left_on, BOTH.format(second="other", off="validate(model)"))
    text = BOTH.format(second="other", off="model.eval()").replace("        model.train()\n", "")
    assert fires(e108_evaluation_mode_left_on, text)
