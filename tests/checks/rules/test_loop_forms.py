"""Loops, schedules, optimizers and loaders in further forms, each beside the same script done right."""

from textwrap import indent

from tests.checks.rules.findings import severities
from tests.for_each import for_each
from trimtab.checks.rules import d110_data_in_file_order as d110
from trimtab.checks.rules import d123_evaluation_sampler_repeats as d123
from trimtab.checks.rules import d127_validated_on_augmented_data as d127
from trimtab.checks.rules import e113_trained_in_evaluation_mode as e113
from trimtab.checks.rules import e114_evaluated_in_training_mode as e114
from trimtab.checks.rules import e115_trained_without_gradients as e115
from trimtab.checks.rules import e122_inference_tensor_in_training as e122
from trimtab.checks.rules import l121_loss_of_another_scale as l121
from trimtab.checks.rules import l122_training_step_without_loss as l122
from trimtab.checks.rules import p304_clipping_of_scaled_gradients as p304
from trimtab.checks.rules import s128_mean_of_means as s128
from trimtab.checks.rules import s139_optimizer_of_old_weights as s139
from trimtab.checks.rules import s143_accumulated_loss_not_divided as s143
from trimtab.checks.rules import s144_decay_on_norms_and_biases as s144
from trimtab.checks.rules import s147_loss_divided_twice as s147
from trimtab.checks.rules import s148_backward_past_the_accelerator as s148
from trimtab.checks.rules import s155_accumulation_that_is_not_set as s155
from trimtab.checks.rules import s156_own_loss_not_divided as s156
from trimtab.checks.rules import s157_accumulation_inverted as s157
from trimtab.checks.rules import s160_schedule_in_another_unit as s160
from trimtab.checks.rules import s161_schedule_never_steps as s161
from trimtab.checks.rules import s164_loss_without_a_graph as s164
from trimtab.checks.rules import s165_optimizer_never_steps as s165
from trimtab.checks.rules import s168_all_weights_frozen as s168

BEGIN = (
    "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
    "from torch.utils.data import DataLoader, random_split\nfrom torchvision import datasets, models, transforms\n"
    "from transformers import AutoModelForCausalLM, BertForSequenceClassification, BertModel, Trainer\n"
    "from transformers import get_cosine_schedule_with_warmup\n"
)
TURN = ("loss = F.cross_entropy(model(x), y)", "optimizer.zero_grad()", "loss.backward()", "optimizer.step()")


def images(
    *turn,
    loader='loader = DataLoader(datasets.ImageFolder("train"), batch_size=64, shuffle=True)',
    model="model = models.resnet18(num_classes=10).cuda()",
    before="",
    behind="",
):
    """A classifier of torchvision trained for 30 epochs."""
    inside = indent("\n".join(turn or TURN), " " * 8)
    return (
        f"{BEGIN}{loader}\n{model}\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n{before}"
        f"for epoch in range(30):\n    model.train()\n    for x, y in loader:\n{inside}\n{indent(behind, ' ' * 4)}"
    )


SORTED = 'loader = DataLoader(datasets.ImageFolder("train"), batch_size=64)'
FLAT = 'loader = DataLoader(datasets.MNIST("data", train=True), 64, shuffle=False)'


def scheduled(made, *, each_batch):
    """A schedule that steps with each batch, or with each epoch."""
    before = f"schedule = torch.optim.lr_scheduler.{made}\n"
    if each_batch:
        return images(*TURN, "schedule.step()", before=before)
    return images(before=before, behind="schedule.step()\n")


def of_length(length, before=""):
    return (
        f"{BEGIN}def train(args, model, data):\n    loader = DataLoader(data, batch_size=args.batch_size)\n{before}"
        "    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)\n"
        f"    schedule = get_cosine_schedule_with_warmup(optimizer, 100, num_training_steps={length})\n"
        "    for epoch in range(args.epochs):\n        for batch in loader:\n            loss = model(**batch).loss\n"
        "            loss.backward()\n            optimizer.step()\n            schedule.step()\n"
        "            optimizer.zero_grad()\n"
    )


def grouped(names, *, rest=0.01, spared='"weight_decay": 0.0', options=""):
    return (
        f'{BEGIN}model = BertForSequenceClassification.from_pretrained("bert-base-uncased")\nno_decay = {names}\n'
        "named = list(model.named_parameters())\ngroups = [\n"
        f'    {{"params": [p for n, p in named if not any(nd in n for nd in no_decay)], "weight_decay": {rest}}},\n'
        f'    {{"params": [p for n, p in named if any(nd in n for nd in no_decay)], {spared}}},\n]\n'
        f"optimizer = torch.optim.AdamW(groups, lr=2e-5{options})\nmodel.train()\nfor batch in loader:\n"
        "    model(**batch).loss.backward()\n    optimizer.step()\n    optimizer.zero_grad()\n"
    )


NORMS = '["bias", "LayerNorm.weight"]'
STEP = (
    "loss = model(**batch).loss",
    "accelerator.backward(loss)",
    "optimizer.step()",
    "optimizer.zero_grad()",
)
METRIC = (
    "    for batch in eval_dl:\n        with torch.no_grad():\n            outputs = model(**batch)\n"
    '        preds, refs = accelerator.{gather}((outputs.logits.argmax(-1), batch["labels"]))\n'
    "        metric.add_batch(predictions=preds, references=refs)\n"
)


def accelerated(*turn, prepared="optimizer, ", gather="gather_for_metrics"):
    inside = indent("\n".join(turn or STEP), " " * 12)
    return (
        f"{BEGIN}from accelerate import Accelerator\n"
        "accelerator = Accelerator(gradient_accumulation_steps=args.gradient_accumulation_steps)\n"
        'model = AutoModelForCausalLM.from_pretrained("gpt2")\n'
        "optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)\n"
        f"model, {prepared}train_dl, eval_dl = accelerator.prepare(model, {prepared}train_dl, eval_dl)\n"
        f"for epoch in range(3):\n    model.train()\n    for batch in train_dl:\n"
        f"        with accelerator.accumulate(model):\n{inside}\n    model.eval()\n"
        + METRIC.format(gather=gather)
    )


def stepping(*body):
    inside = indent("\n".join(body), " " * 8)
    return (
        f"{BEGIN}class Mine(Trainer):\n    def training_step(self, model, inputs, num_items_in_batch=None):\n"
        f"        model.train()\n        loss = self.compute_loss(model, inputs)\n{inside}\n"
        "        return loss.detach()\n"
    )


def engine(*turn, signature="update_freq=4"):
    """A file with nothing but the function that another one calls."""
    inside = indent("\n".join(turn), " " * 8)
    return (
        f"{BEGIN}def train_one_epoch(model, criterion, data_loader, optimizer, {signature}):\n    model.train(True)\n"
        f"    for step, (x, y) in enumerate(data_loader):\n        loss = criterion(model(x), y)\n{inside}\n"
    )


PERIOD = (
    "if (step + 1) % update_freq == 0:",
    "    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
    "    optimizer.step()",
    "    optimizer.zero_grad()",
)
SCALED = "scaler.scale(loss).backward()"
CLIPPED = (
    "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)", "scaler.step(optimizer)", "scaler.update()",
    "optimizer.zero_grad()",
)  # fmt: skip


def evaluated(*, mode):
    return engine("loss.backward()", "optimizer.step()", "optimizer.zero_grad()") + (
        f"@torch.no_grad()\ndef evaluate(model, val_loader):\n{mode}    for x, y in val_loader:\n"
        "        print((model(x).argmax(-1) == y).sum())\n"
        "def main(model, criterion, optimizer):\n"
        "    train_one_epoch(model, criterion, train_loader, optimizer)\n    evaluate(model, val_loader)\n"
    )


def two_optimizers(step):
    return (
        f"{BEGIN}G, D = Generator(), Discriminator()\nopt_g = torch.optim.Adam(G.parameters(), lr=2e-4)\n"
        "opt_d = torch.optim.Adam(D.parameters(), lr=2e-4)\nfor real in loader:\n    fake = G(noise)\n"
        "    opt_d.zero_grad()\n    (D(fake.detach()) - D(real)).mean().backward()\n"
        f"{step}    opt_g.zero_grad()\n    (-D(fake)).mean().backward()\n    opt_g.step()\n"
    )


def distilled(mode):
    return (
        f"{BEGIN}model = Student()\noptimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)\nfor x in loader:\n"
        f"    with torch.{mode}():\n        features = teacher(x)\n    loss = model(features).square().mean()\n"
        "    optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()\n"
    )


def wrapped(mode):
    return (
        f"{BEGIN}class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        '        self.bert = BertModel.from_pretrained("bert-base-uncased")\n        self.head = nn.Linear(768, 2)\n'
        "    def forward(self, x):\n        return self.head(self.bert(x).pooler_output)\nmodel = Net()\n"
        f"optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)\n{mode}for x, y in loader:\n"
        "    loss = F.cross_entropy(model(x), y)\n    loss.backward()\n    optimizer.step()\n"
        "    optimizer.zero_grad()\n"
    )


def adapted(*order):
    made = {
        "optimizer": "optimizer = torch.optim.AdamW(filter(lambda p: p.requires_grad, model.parameters()), lr=1e-4)\n",
        "adapter": "model = get_peft_model(model, LoraConfig(r=8))\n",
    }
    return (
        f"{BEGIN}from peft import LoraConfig, get_peft_model\n"
        'model = AutoModelForCausalLM.from_pretrained("gpt2")\n'
        + "".join(made[each] for each in order)
        + "for batch in "
        "loader:\n    model(**batch).loss.backward()\n    optimizer.step()\n    optimizer.zero_grad()\n"
    )


def synchronised(sign):
    return images(
        f"model.require_backward_grad_sync = (step + 1) % accum {sign} 0",
        "(F.cross_entropy(model(x), y) / accum).backward()",
        "if (step + 1) % accum == 0:",
        "    optimizer.step()",
        "    optimizer.zero_grad()",
    ).replace("for x, y in loader", "for step, (x, y) in enumerate(loader)")


def handed(use):
    return (
        f"{BEGIN}def train(model, loader, optimizer, scheduler):\n    for x, y in loader:\n"
        "        optimizer.zero_grad()\n        F.cross_entropy(model(x), y).backward()\n        optimizer.step()\n"
        f"{use}def main():\n    model = models.resnet18()\n"
        "    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 1000)\n"
        "    for epoch in range(9):\n        train(model, loader, optimizer, scheduler)\nmain()\n"
    )


def lightning(returned):
    return (
        "import lightning as L\nimport torch.nn.functional as F\nclass Lit(L.LightningModule):\n"
        "    def training_step(self, batch, batch_idx):\n        x, y = batch\n"
        f"        loss = F.cross_entropy(self.net(x), y)\n        return {returned}\n"
    )


FREEZE = "for p in model.parameters():\n    p.requires_grad = False\n"
HEAD = "model.fc = nn.Linear(512, 10)\n"
PART = "optimizer = torch.optim.SGD(model.fc.parameters(), lr=0.1)\n"
NO_GRAD = (
    "with torch.no_grad():",
    "    out = model(x)",
    "loss = F.cross_entropy(out, y)",
    "loss.requires_grad = True",
)
AUGMENTED = (
    "tf = transforms.Compose([transforms.RandomResizedCrop(224), transforms.ToTensor()])\n"
    'data = datasets.ImageFolder("all", transform={tf})\ntrain_set, val_set = random_split(data, [0.9, 0.1])\n'
    "loader = DataLoader(train_set, shuffle=True)\nval_loader = DataLoader(val_set)"
)
OTHER = "    val_loader = DataLoader(val_data, batch_size=8)\n"


@for_each(
    ("rule", "bad", "good"),
    [
        (d110, images(loader=SORTED), images()),
        (d110, images(loader=FLAT), images(loader=FLAT.replace("False", "True"))),
        (d110, images(loader=FLAT), images(loader=FLAT.replace("shuffle=False", "sampler=mine"))),
        (d123, accelerated(gather="gather"), accelerated()),
        (d127, images(loader=AUGMENTED.format(tf="tf")), images(loader=AUGMENTED.format(tf="None"))),
        (e113, wrapped(""), wrapped("model.train()\n")),
        (e114, evaluated(mode=""), evaluated(mode="    model.eval()\n")),
        (e115, images("with torch.no_grad():", *(f"    {each}" for each in TURN)), images()),
        (e122, distilled("inference_mode"), distilled("no_grad")),
        (l121, images("loss = F.nll_loss(model(x), y)", *TURN[1:]), images()),
        (l122, lightning('{"loss": loss.item()}'), lightning('{"loss": loss}')),
        (p304, engine(SCALED, *CLIPPED, signature="scaler"),
         engine(SCALED, "scaler.unscale_(optimizer)", *CLIPPED, signature="scaler")),
        (s139, adapted("optimizer", "adapter"), adapted("adapter", "optimizer")),
        (s143, engine("loss.backward()", *PERIOD), engine("(loss / update_freq).backward()", *PERIOD)),
        (s144, grouped('["bias", "gamma", "beta"]'), grouped(NORMS)),
        (s144, grouped('["bias", "layer_norm.weight"]'), grouped(NORMS)),
        (s144, grouped(NORMS, rest=0.0, spared='"weight_decay": 0.01'), grouped(NORMS)),
        (s144, grouped(NORMS, spared='"lr": 1e-5', options=", weight_decay=0.01"),
         grouped(NORMS, spared='"lr": 1e-5', options=", weight_decay=0.0")),
        (s147, engine("loss = loss / update_freq", "(loss / update_freq).backward()", *PERIOD),
         engine("(loss / update_freq).backward()", *PERIOD)),
        (s148, accelerated(STEP[0], "loss.backward()", *STEP[2:]), accelerated()),
        (s155, accelerated(prepared=""), accelerated()),
        (s156, stepping("loss.backward()"),
         stepping("loss = loss / self.args.gradient_accumulation_steps", "loss.backward()")),
        (s156, stepping("self.accelerator.backward(loss)"),
         stepping("self.accelerator.backward(loss / self.args.gradient_accumulation_steps)")),
        (s157, synchronised("!="), synchronised("==")),
        (s160, of_length("len(loader) // args.batch_size * args.epochs"), of_length("len(loader) * args.epochs")),
        (s160, of_length("len(data) * args.epochs"), of_length("len(data) * args.epochs // args.batch_size")),
        (s160, of_length("len(loader.dataset) * args.epochs"), of_length("len(loader) * args.epochs")),
        (s160, of_length("len(val_loader) * args.epochs", OTHER), of_length("len(loader) * args.epochs", OTHER)),
        (s160, of_length("len(loader) * args.epochs // args.gradient_accumulation_steps"),
         of_length("len(loader) * args.epochs")),
        (s160, scheduled("MultiStepLR(optimizer, [10, 20])", each_batch=True),
         scheduled("MultiStepLR(optimizer, [10, 20])", each_batch=False)),
        (s160, scheduled("StepLR(optimizer, 10)", each_batch=True),
         scheduled("StepLR(optimizer, 1000)", each_batch=True)),
        (s160, scheduled("OneCycleLR(optimizer, 0.1, epochs=30, steps_per_epoch=len(loader))", each_batch=False),
         scheduled("OneCycleLR(optimizer, 0.1, epochs=30, steps_per_epoch=len(loader))", each_batch=True)),
        (s161, handed(""), handed("        scheduler.step()\n")),
        (s164, images(*NO_GRAD, *TURN[1:]), images(*NO_GRAD[1:2], *NO_GRAD[2:], *TURN[1:])
         .replace("            out", "        out")),
        (s164, images("loss = F.cross_entropy(model(x).detach(), y)", NO_GRAD[3], *TURN[1:]), images()),
        (s165, two_optimizers(""), two_optimizers("    opt_d.step()\n")),
        (s168, images(before=HEAD + FREEZE + PART), images(before=FREEZE + HEAD + PART)),
    ],
)  # fmt: skip
def test_the_fault_is_named_and_the_same_script_done_right_is_not(rule, bad, good):
    assert len(severities(rule, "train.py", bad)) == 1
    assert severities(rule, "train.py", good) == []


def test_a_head_that_ends_in_log_probabilities_is_left_alone():
    replaced = "model = models.resnet18()\nmodel.fc = nn.Sequential(nn.Linear(512, 10), nn.LogSoftmax(dim=1))"
    assert (
        severities(l121, "train.py", images("loss = F.nll_loss(model(x), y)", *TURN[1:], model=replaced))
        == []
    )


def test_means_of_means_are_noted_only_where_nothing_tells_of_text():
    fitted = "import lightning as L\nL.Trainer(accumulate_grad_batches=4).fit(m, d)\n"
    assert severities(s128, "train.py", fitted) == ["note"]
    assert severities(s128, "train.py", fitted + "x = tokenizer(texts)\n") == [s128.RULE.severity]
