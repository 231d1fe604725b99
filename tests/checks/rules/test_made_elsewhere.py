"""Schedules that a function of the script makes, and embeddings and batches that something else changes."""

from tests.checks.rules.findings import severities
from tests.for_each import for_each
from trimtab.checks.rules import d116_workers_share_one_seed as d116
from trimtab.checks.rules import e120_right_padded_generation as e120
from trimtab.checks.rules import m129_embeddings_not_resized as m129
from trimtab.checks.rules import s119_adafactor_of_two_rates as s119
from trimtab.checks.rules import s125_batch_finder_uncompensated as s125
from trimtab.checks.rules import s161_schedule_never_steps as s161

BEGIN = (
    "import torch\nimport torch.nn.functional as F\nfrom accelerate import Accelerator\n"
    "from torch.optim.lr_scheduler import CosineAnnealingLR, LambdaLR\n"
    "from transformers import get_linear_schedule_with_warmup, get_scheduler\n"
)
TURN = (
    "for x, y in loader:\n    optimizer.zero_grad()\n    F.cross_entropy(model(x), y).backward()\n"
    "    optimizer.step()\n"
)
STEP = "    scheduler.step()\n"
MADE = "CosineAnnealingLR(optimizer, T_max=100)"
PAIR = (
    "def make(model):\n    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)\n    scheduler = {made}\n"
    "    return optimizer, scheduler\n"
)
ONE = "def make(optimizer):\n    return CosineAnnealingLR(optimizer, T_max=100)\n"


def helped(made=MADE, *, helper=PAIR, call="optimizer, scheduler = make(model)", loop=TURN):
    """A schedule that a function makes and returns, and a loop."""
    return f"{BEGIN}{helper.replace('{made}', made)}model = torch.nn.Linear(3, 3)\n{call}\n{loop}"


SINGLE = "optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)\nscheduler = make(optimizer)"
RUNNER = (
    BEGIN + "class Runner:\n    def __init__(self, model):\n        self.model = model\n"
    "        self.optimizer, self.scheduler = self.configure()\n    def configure(self):\n"
    "        optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)\n"
    f"        scheduler = {MADE}\n        return optimizer, scheduler\n    def fit(self, loader):\n"
    "        for x, y in loader:\n            self.optimizer.zero_grad()\n"
    "            F.cross_entropy(self.model(x), y).backward()\n            self.optimizer.step()\n{step}"
    "Runner(torch.nn.Linear(3, 3)).fit(loader)\n"
)
PREPARED = (
    BEGIN + "accelerator = Accelerator()\nmodel = torch.nn.Linear(3, 3)\n"
    "optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)\n"
    "lr_scheduler = get_scheduler('linear', optimizer=optimizer, num_warmup_steps=10, num_training_steps=100)\n"
    "model, optimizer, loader, lr_scheduler = accelerator.prepare(\n    model, optimizer, loader, lr_scheduler\n)\n"
    "for x, y in loader:\n    accelerator.backward(F.cross_entropy(model(x), y))\n    optimizer.step()\n{step}"
    "    optimizer.zero_grad()\n"
)
RENAMED = "opt, rates = make(model)"
LOGGED = TURN + "    print(scheduler.get_last_lr())\n"


@for_each(
    ("text", "said"),
    [
        (helped(), ["error"]),
        (helped("get_linear_schedule_with_warmup(optimizer, 100, 1000)"), ["error"]),
        (helped("LambdaLR(optimizer, lambda s: min(1, s / 100))", loop=LOGGED), ["error"]),
        (helped(call=RENAMED, loop=TURN.replace("optimizer", "opt")), ["error"]),
        (helped(call="optimizer, _ = make(model)"), ["error"]),
        (helped(helper=ONE, call=SINGLE), ["error"]),
        (RUNNER.replace("{step}", ""), ["error"]),
        (PREPARED.replace("{step}", ""), ["error"]),
        (helped(loop=TURN + STEP), []),
        (helped(call=RENAMED, loop=TURN.replace("optimizer", "opt") + "    rates.step()\n"), []),
        (
            helped(
                call="optimizer, scheduler = make(model)\nTrainer(model, optimizers=(optimizer, scheduler))"
            ),
            [],
        ),
        (helped(call="optimizer, scheduler = make(model)\nfit(model, optimizer, scheduler)"), []),
        (helped(call="parts = make(model)\noptimizer = parts[0]", loop=TURN + "    parts[1].step()\n"), []),
        (helped(call="state = State(*make(model))\noptimizer = state.optimizer"), []),
        (helped(helper=ONE, call=SINGLE, loop=TURN + STEP), []),
        (RUNNER.replace("{step}", "            self.scheduler.step()\n"), []),
        (PREPARED.replace("{step}", "    lr_scheduler.step()\n"), []),
    ],
)
def test_schedules_that_a_function_returns(text, said):
    assert severities(s161, "train.py", text) == said


ADAFACTOR = "from transformers import Adafactor, get_linear_schedule_with_warmup\n"


@for_each(
    ("options", "said"),
    [("scale_parameter=True, relative_step=True, lr=None", ["error"]), ("relative_step=False, lr=1e-3", [])],
)
def test_a_schedule_over_an_adafactor_that_makes_its_own_rate(options, said):
    made = f"opt = Adafactor(model.parameters(), {options})\n"
    scheduled = "sched = get_linear_schedule_with_warmup(opt, 500, 10000)\n"
    assert severities(s119, "train.py", ADAFACTOR + made + scheduled) == said


def test_embeddings_that_are_exchanged_by_hand_need_no_resizing():
    old = "Trainer(model"
    text = m129.RULE.bad.text
    new = "model.set_input_embeddings(torch.nn.Embedding(len(tokenizer), 576))\nTrainer(model"
    assert severities(m129, "train.py", text) == ["warning"]
    assert severities(m129, "train.py", text.replace(old, new)) == []


TUNED = (
    "import lightning as L\nfrom lightning.pytorch.tuner import Tuner\ntrainer = L.Trainer(max_epochs=3{options})\n"
    "{call}\ntrainer.fit(model)\n"
)
SCALED = "Tuner(trainer).scale_batch_size(model{options})"


@for_each(
    ("options", "call", "said"),
    [
        ("", SCALED.replace("{options}", ', mode="power"'), ["note"]),
        ("", "tuner = Tuner(trainer)\ntuner.scale_batch_size(model)", ["note"]),
        (", accumulate_grad_batches=8", SCALED.replace("{options}", ""), ["note"]),
        ("", "Tuner(trainer).scale_batch_size(model)\nTuner(trainer).lr_find(model)", []),
        ("", "Tuner(trainer).lr_find(model)", []),
        ("", "Tuner(trainer)", []),
    ],
)
def test_batches_that_lightning_finds(options, call, said):
    assert severities(s125, "train.py", TUNED.replace("{options}", options).replace("{call}", call)) == said


ASKED = (
    "from transformers import AutoModelForCausalLM, AutoTokenizer\n"
    'tokenizer = AutoTokenizer.from_pretrained("{name}"{side})\n'
    'model = AutoModelForCausalLM.from_pretrained("{name}")\n'
    'model.generate(**tokenizer(["a", "a b"], return_tensors="pt", padding=True))\n'
)


@for_each(
    ("name", "side", "said"),
    [
        ("gpt2", "", ["warning"]),
        ("EleutherAI/pythia-160m", "", ["warning"]),
        ("my/model", ', padding_side="right"', ["warning"]),
        ("gpt2", ', padding_side="left"', []),
        ("my/model", "", []),
    ],
)
def test_the_side_of_padding_that_a_tokenizer_has_by_default(name, side, said):
    text = ASKED.replace("{name}", name).replace("{side}", side)
    assert severities(e120, "generate.py", text) == said


DRAWN = (
    "import numpy as np\nfrom torch.utils.data import DataLoader, Dataset\n{made}class Noisy(Dataset):\n"
    "    def __getitem__(self, i):\n        return i + {drawn}\nloader = DataLoader(Noisy(), num_workers={workers})\n"
)


@for_each(
    ("made", "drawn", "workers", "said"),
    [
        ("rng = np.random.default_rng(0)\n", "rng.normal()", 4, ["warning"]),
        ("state = np.random.RandomState(3)\n", "state.rand()", 2, ["warning"]),
        ("rng = np.random.default_rng(0)\n", "np.random.default_rng(i).normal()", 4, []),
        ("rng = np.random.default_rng(0)\n", "rng.normal()", 0, []),
        ("", "np.random.rand()", 4, []),
    ],
)
def test_generators_of_the_script_that_workers_copy(made, drawn, workers, said):
    text = DRAWN.replace("{made}", made).replace("{drawn}", drawn).replace("{workers}", str(workers))
    assert severities(d116, "train.py", text) == said
