"""Forms of bugs that public training code had and mended, each beside a script that is right."""

from textwrap import dedent, indent

from tests.checks.rules.findings import severities
from tests.for_each import for_each
from trimtab.checks.rules import (
    c128_method_not_called,
    d105_validated_on_training_data,
    d110_data_in_file_order,
    d115_sampler_without_epoch,
    e108_evaluation_mode_left_on,
    e112_evaluation_with_gradients,
    l116_softmax_before_cross_entropy,
    m321_modules_in_a_plain_list,
    m322_mask_is_inverted,
    p312_loss_accumulated_with_graph,
    s137_gradients_never_cleared,
    s140_rate_beyond_any_use,
    s143_accumulated_loss_not_divided,
    s155_accumulation_that_is_not_set,
    s160_schedule_in_another_unit,
    s170_average_never_updated,
    s171_averaged_weights_left_in_model,
)

HEAD = """\
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader
model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.1), nn.Linear(8, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
"""
STEP = "optimizer.zero_grad()\nloss = F.cross_entropy(model(x), y)\nloss.backward()\noptimizer.step()\n"


def said(rule, text):
    return severities(rule, "train.py", text)


def loop(body, *, head=HEAD, over="loader"):
    return (
        head
        + f"for epoch in range(3):\n    for i, (x, y) in enumerate({over}):\n"
        + indent(body, " " * 8)
        + "\n"
    )


ASKED = """\
class Run:
    def __init__(self, args):
        self.args, self.model = args, nn.Linear(8, 2)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=3e-4)
    def is_update_step(self, i):
        return self.due("update", self.args.gradient_accumulation_steps, i)
    def train(self, loader):
        for i, (x, y) in enumerate(loader):
            if {first}:
                self.optimizer.zero_grad()
            (F.cross_entropy(self.model(x), y) / 4).backward()
            if {second}:
                self.optimizer.step()
                {behind}
"""


@for_each(
    ("first", "second", "behind", "is_wrong"),
    [
        ("self.is_update_step(i)", "self.is_update_step(i)", "pass", True),
        ("i % 4 == 3", "i % 4 == 3", "pass", True),
        ("i % 4 == 0", "i % 4 == 3", "pass", False),
        ("i == 0", "self.is_update_step(i)", "self.optimizer.zero_grad()", False),
        ("i % 4 == 3", "i % 4 == 0", "pass", False),
    ],
)
def test_gradients_cleared_in_the_turn_that_steps_are_lost(first, second, behind, is_wrong):
    text = HEAD + ASKED.format(first=first, second=second, behind=behind)
    assert bool(said(s137_gradients_never_cleared, text)) is is_wrong


@for_each(
    ("function", "is_wrong"),
    [
        ("", True),
        ("    optimizer.zero_grad()\n    ", False),
        ("    update(optimizer)\n    ", False),
    ],
)
def test_a_function_that_makes_its_optimizer_and_never_clears_is_seen_beside_others_that_do(
    function, is_wrong
):
    text = (
        "import torch\nfrom torch import nn\ndef sgd(params):\n    for p in params:\n        p.grad.zero_()\n"
        "def train(net, loader):\n    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)\n"
        f"    for x, y in loader:\n    {function}    nn.functional.cross_entropy(net(x), y).backward()\n"
        "        optimizer.step()\n"
    )
    assert bool(said(s137_gradients_never_cleared, text)) is is_wrong


@for_each(
    ("dataset", "given", "severity"),
    [
        ("torch.utils.data.TensorDataset(a, b)", "batch_size=8", ["note"]),
        ("torch.utils.data.TensorDataset(a, b)", "batch_size=8, shuffle=False, sampler=None", ["note"]),
        ("torch.utils.data.TensorDataset(a, b)", "batch_size=8, shuffle=True", []),
        ("torch.utils.data.TensorDataset(a, b)", "batch_size=8, sampler=s", []),
        ("Stream(a)", "batch_size=8", []),
        ("torch.utils.data.TensorDataset(a[torch.randperm(9)], b)", "batch_size=8", []),
    ],
)
def test_a_loader_of_examples_with_numbers_is_shuffled(dataset, given, severity):
    text = HEAD + f"data = {dataset}\nloader = DataLoader(data, {given})\n"
    assert said(d110_data_in_file_order, loop(STEP, head=text)) == severity


LIGHTNING = """\
import lightning as L
from datasets import load_dataset
from torch.utils.data import DataLoader
class Data(L.LightningDataModule):
    def setup(self, stage):
        self.data = load_dataset("glue", "mrpc")
    def train_dataloader(self):
        return DataLoader(self.data["{split}"], batch_size=8{more})
    def val_dataloader(self):
        return DataLoader(self.data["validation"], batch_size=8)
"""


@for_each(
    ("more", "severity"),
    [("", ["note"]), (", shuffle=True", []), (", **self.options", []), (", sampler=s", [])],
)
def test_a_train_dataloader_is_shuffled(more, severity):
    assert said(d110_data_in_file_order, LIGHTNING.format(split="train", more=more)) == severity


@for_each(
    ("body", "is_wrong"),
    [
        (STEP + "kept.append(loss)\n", True),
        (STEP + "kept.append(loss.item())\n", False),
        (STEP + "kept.append(loss.detach())\n", False),
        ("kept = []\n" + STEP + "kept.append(loss)\n", False),
        (
            "out = step(x)\noptimizer.zero_grad()\nout['loss'].backward()\noptimizer.step()\nkept.append(out)\n",
            True,
        ),
        (
            "out = step(x)\nout['loss'].backward()\noptimizer.step()\nout['loss'] = out['loss'].detach()\n"
            "kept.append(out)\n",
            False,
        ),
    ],
)
def test_losses_are_not_kept_in_a_list_with_their_graph(body, is_wrong):
    assert bool(said(p312_loss_accumulated_with_graph, loop(body, head=HEAD + "kept = []\n"))) is is_wrong


def test_a_loss_that_a_method_gives_back_after_its_backward_pass_is_not_added_up():
    text = (
        "import torch\nfrom torch import nn\nclass Run:\n    def step(self, x):\n        loss = self.model(x).mean()\n"
        "        loss.backward()\n        return loss{end}\n    def fit(self, loader):\n        total = 0.0\n"
        "        for x in loader:\n            self.optimizer.zero_grad()\n            total += self.step(x)\n"
        "            self.optimizer.step()\n"
    )
    assert said(p312_loss_accumulated_with_graph, text.replace("{end}", ""))
    assert not said(p312_loss_accumulated_with_graph, text.replace("{end}", ".detach()"))


PHASES = """\
for epoch in range(3):
    for x, y in data:
{step}
    if {test}:
        with torch.no_grad():
            for x, y in {over}:
                print(model(x).mean())
"""


@for_each(
    ("test", "over", "is_wrong"),
    [
        ("val_data is not None", "data", True),
        ("val_data is not None", "val_data", False),
        ("epoch == 2", "data", False),
    ],
)
def test_a_branch_about_held_out_data_goes_over_them(test, over, is_wrong):
    text = (
        HEAD
        + "def fit(data, val_data):\n"
        + indent(PHASES.format(step=indent(STEP, " " * 8), test=test, over=over), "    ")
    )
    assert bool(said(d105_validated_on_training_data, text)) is is_wrong


@for_each(
    ("valid", "is_wrong"),
    [
        ("make(root, train=True)", True),
        ("make(root, train=False)", False),
        ("make(other, train=True)", False),
        ("make(root, seed)", False),
    ],
)
def test_two_calls_for_the_training_split_are_one_set(valid, is_wrong):
    text = (
        "import torch\nfrom torch.utils.data import DataLoader\nfrom corpora import make\n"
        f"data, held = make(root, train=True), {valid}\n"
        "train_dl = DataLoader(data, shuffle=True)\nval_dl = DataLoader(held, shuffle=False)\n"
    )
    assert bool(said(d105_validated_on_training_data, text)) is is_wrong


@for_each(
    ("epochs", "is_wrong"),
    [("", True), ("            sampler.set_epoch(epoch)\n", False)],
)
def test_a_method_that_trains_on_a_sampled_loader_is_told_the_epoch(epochs, is_wrong):
    text = (
        "import torch\nfrom torch.utils.data import DataLoader\nfrom torch.utils.data.distributed import "
        "DistributedSampler\nclass Run:\n    def one(self):\n        pass\n    def train_epoch(self, loader):\n"
        "        raise NotImplementedError\n    def fit(self, data):\n        sampler = DistributedSampler(data)\n"
        "        loader = DataLoader(data, sampler=sampler)\n        for epoch in range(self.num_epochs):\n"
        f"{epochs}            self.train_epoch(loader)\n"
    )
    assert bool(said(d115_sampler_without_epoch, text)) is is_wrong


def test_a_prediction_that_leaves_evaluation_mode_on_is_seen_beside_one_that_does_not():
    text = (
        "import torch\nfrom torch import nn\nclass Model:\n    def __init__(self, net):\n"
        "        self.net = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.1))\n"
        "        self.optimizer = torch.optim.Adam(self.net.parameters())\n    def fit(self, loader):\n"
        "        for x, y in loader:\n            self.optimizer.zero_grad()\n"
        "            nn.functional.mse_loss(self.net(x), y).backward()\n            self.optimizer.step()\n"
        "    def score(self, x):\n        self.net.eval()\n        found = self.net(x)\n        self.net.train()\n"
        "        return found\n    def predict(self, x):\n        self.net.eval()\n        found = self.net(x)\n{back}"
        "        return found\n"
    )
    assert said(e108_evaluation_mode_left_on, text.replace("{back}", "")) == ["warning"]
    assert not said(e108_evaluation_mode_left_on, text.replace("{back}", "        self.net.train()\n"))


EVALUATION = """\
import torch
from torch import nn
from models import make
def evaluate(net, loader):
    net = net.eval()
    {open}for x, y in loader:
        {inner}print(nn.functional.cross_entropy(net(x), y).item())
def main():
    model = make().cuda()
    model.load_state_dict(torch.load("model.pt"))
    evaluate(model, loader)
if __name__ == "__main__":
    main()
"""


def test_a_program_that_only_evaluates_records_no_gradients():
    assert said(e112_evaluation_with_gradients, EVALUATION.format(open="", inner=""))
    text = EVALUATION.format(open="", inner="").replace("def evaluate", "@torch.no_grad()\ndef evaluate")
    assert not said(e112_evaluation_with_gradients, text)
    assert not said(
        e112_evaluation_with_gradients, EVALUATION.format(open="", inner="").replace("__main__", "main")
    )


def test_an_exponential_of_a_log_softmax_is_a_softmax():
    text = HEAD + "p = {call}\nF.cross_entropy(p, y).backward()\n"
    assert said(
        l116_softmax_before_cross_entropy, text.replace("{call}", "torch.exp(F.log_softmax(model(x), -1))")
    )
    assert said(
        l116_softmax_before_cross_entropy, text.replace("{call}", "F.log_softmax(model(x), -1).exp()")
    )
    assert not said(l116_softmax_before_cross_entropy, text.replace("{call}", "model(x).exp()"))


def test_contexts_are_made_before_they_are_entered():
    assert said(c128_method_not_called, HEAD + "with torch.no_grad:\n    model(x)\n") == ["error"]
    assert not said(c128_method_not_called, HEAD + "with torch.no_grad():\n    model(x)\n")


def test_a_file_of_modules_alone_is_read_for_lists_of_them():
    text = dedent("""\
        import torch
        class Net(torch.nn.Module):
            def __init__(self, depth):
                super().__init__()
                self.convs = {kind}
                for _ in range(depth):
                    conv = torch.nn.Conv1d(8, 8, 3)
                    self.convs.append(conv)
        """)
    assert said(m321_modules_in_a_plain_list, text.format(kind="[]"))
    assert not said(m321_modules_in_a_plain_list, text.format(kind="torch.nn.ModuleList()"))


@for_each(
    ("given", "is_wrong"),
    [
        ("mask=m, src_key_padding_mask=m", True),
        ("attn_mask=m, key_padding_mask=m", True),
        ("mask=m, src_key_padding_mask=pad", False),
        ("mask=None, src_key_padding_mask=None", False),
    ],
)
def test_a_mask_of_pairs_is_no_mask_of_padding(given, is_wrong):
    text = HEAD + f"def forward(x, m, pad):\n    return model(x, {given})\n"
    assert bool(said(m322_mask_is_inverted, text)) is is_wrong


DIVIDED = "optimizer.zero_grad()\nloss = F.cross_entropy(model(x), y) / {count}\nloss.backward()\n{step}"


@for_each(
    ("count", "step", "head", "is_wrong"),
    [
        ("accumulation_steps", "optimizer.step()", "accumulation_steps = 8\n", True),
        ("args.grad_accum", "optimizer.step()", "", True),
        ("accumulation_steps", "optimizer.step()", "accumulation_steps = 1\n", False),
        ("accumulation_steps", "if i % 8 == 7:\n    optimizer.step()", "accumulation_steps = 8\n", False),
        ("temperature", "optimizer.step()", "", False),
        ("accumulation_steps", "optimizer.step()", "import accelerate\n", False),
    ],
)
def test_a_share_of_a_loss_is_accumulated(count, step, head, is_wrong):
    text = loop(DIVIDED.format(count=count, step=step), head=HEAD + head)
    assert bool(said(s155_accumulation_that_is_not_set, text)) is is_wrong


@for_each(
    ("length", "severity"),
    [
        ("len(data) // (batch * float(trainer.max_epochs))", ["error"]),
        ("len(loader) // num_epochs", ["error"]),
        ("len(loader) * num_epochs // 4", []),
        ("len(loader) // (accumulation)", []),
    ],
)
def test_epochs_multiply_a_length(length, severity):
    text = (
        "import torch\nfrom transformers import get_linear_schedule_with_warmup\n"
        "optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)\n"
        f"schedule = get_linear_schedule_with_warmup(optimizer, num_warmup_steps=10, num_training_steps={length})\n"
    )
    assert said(s160_schedule_in_another_unit, text) == severity


def test_a_loss_that_a_model_is_asked_for_is_a_mean():
    body = (
        'loss = model(x, return_type="{kind}")\nloss.backward()\nif (i + 1) % accumulation == 0:\n'
        "    optimizer.step()\n    optimizer.zero_grad()"
    )
    head = HEAD + "from lens import model\n"
    assert said(s143_accumulated_loss_not_divided, loop(body.format(kind="loss"), head=head))
    assert not said(s143_accumulated_loss_not_divided, loop(body.format(kind="both"), head=head))


AVERAGE = "from diffusers.training_utils import EMAModel\nema = EMAModel(model.parameters())\n"


OWN = "from ema import EMA\nema = EMA({of})\n"


@for_each(
    ("head", "body", "severity"),
    [
        (AVERAGE, STEP, ["error"]),
        (AVERAGE, STEP + "ema.to('cuda')\nema.state_dict()\n", ["error"]),
        (AVERAGE, STEP + "ema.step(model.parameters())", []),
        (AVERAGE, STEP + "for own in ema.parameters():\n    own.lerp_(x, 0.1)", []),
        (AVERAGE, STEP + "blend(ema.module, model)", []),
        (AVERAGE + "train(model, ema)\n", STEP, []),
        (AVERAGE.replace("ema = EMAModel(model.parameters())", "emas = [EMAModel(model.parameters())]"),
         STEP + "for each in emas:\n    each.step(model.parameters())", []),
        (OWN.format(of="model"), STEP + "ema.update()", []),
        (OWN.format(of="model"), STEP + "ema.update_weights()", []),
        (OWN.format(of="model"), STEP + "ema.blend()", []),
        (OWN.format(of="model"), STEP, ["note"]),
        (OWN.format(of="list(model.parameters())"), STEP, ["note"]),
        (OWN.format(of="0.98"), STEP, []),
        (OWN.format(of="0.98"), STEP + "ema.add(loss.item())", []),
        (OWN.format(of="alpha=0.98"), STEP + "print(ema.value)", []),
    ],
)  # fmt: skip
def test_an_average_of_weights_is_updated_and_a_meter_is_none(head, body, severity):
    assert said(s170_average_never_updated, loop(body, head=HEAD + head)) == severity


@for_each(
    ("behind", "is_wrong"),
    [("", True), ("ema.restore(model.parameters())\n", False)],
)
def test_weights_that_an_evaluation_borrows_are_given_back(behind, is_wrong):
    body = (
        STEP + "ema.step(model.parameters())\nif i % 100 == 0:\n    ema.store(model.parameters())\n"
        "    ema.copy_to(model.parameters())\n    validate(model)\n"
    )
    text = loop(body + indent(behind, "    "), head=HEAD + AVERAGE)
    assert bool(said(s171_averaged_weights_left_in_model, text)) is is_wrong


@for_each(
    ("condition", "behind", "severity"),
    [
        ("", "validate(model)", ["error"]),
        ("if i % 100 == 0:", "validate(model)", ["warning"]),
        ("if accelerator.is_main_process:", "validate(model)", ["warning"]),
        ("if rank == 0:", "validate(model)", ["warning"]),
        ("if i == 9:", "model.save_pretrained('out')", []),
        ("if i == len(loader) - 1:", "model.save_pretrained('out')", []),
        ("if i >= most:", "model.save_pretrained('out')", []),
        ("if is_last(i):", "model.save_pretrained('out')", []),
        ("if loss < 0.1:", "model.save_pretrained('out')\nbreak", []),
    ],
)
def test_weights_that_are_copied_when_training_is_over_may_stay(condition, behind, severity):
    pair = f"ema.store(model.parameters())\nema.copy_to(model.parameters())\n{behind}\n"
    body = (
        STEP
        + "ema.step(model.parameters())\n"
        + (f"{condition}\n{indent(pair, '    ')}" if condition else pair)
    )
    assert said(s171_averaged_weights_left_in_model, loop(body, head=HEAD + AVERAGE)) == severity


CONV = "import torch\nfrom torch import nn\nmodel = nn.Sequential(nn.Conv2d(1, 8, 3))\n"


@for_each(
    ("text", "severity"),
    [
        (CONV + "o = torch.optim.Adam(model.parameters(), lr=0.1)\n", ["warning"]),
        (CONV + "o = torch.optim.AdamW(model.parameters(), 0.5)\n", ["warning"]),
        (CONV + "o = torch.optim.Adam(model.parameters(), lr=2e3)\n", ["error"]),
        (
            CONV.replace("Conv2d(1, 8, 3)", "Linear(1, 8)")
            + "o = torch.optim.Adam(model.parameters(), lr=0.1)\n",
            ["note"],
        ),
        (CONV + "o = torch.optim.SGD(model.parameters(), lr=0.1)\n", []),
        (CONV + "o = torch.optim.Adadelta(model.parameters(), lr=1.0)\n", []),
        (CONV + "o = torch.optim.Adagrad(model.parameters(), lr=0.1)\n", []),
        (CONV + "o = Prodigy(model.parameters(), lr=1.0)\n", []),
        (CONV + "o = torch.optim.Adam([image], lr=0.5)\n", []),
        (CONV + "o = torch.optim.Adam(model.parameters(), lr=rate)\n", []),
        (
            CONV + "o = torch.optim.Adam(model.parameters(), lr=1.0)\n"
            "s = torch.optim.lr_scheduler.LambdaLR(o, noam)\n",
            [],
        ),
        (
            CONV + "g = torch.optim.Adam(model.parameters(), lr=0.2)\n"
            "d = torch.optim.Adam(other.parameters(), lr=2e-4)\n",
            ["warning"],
        ),
    ],
)
def test_an_adam_has_a_rate_below_a_tenth(text, severity):
    assert said(s140_rate_beyond_any_use, text) == severity
