"""Softmax before a loss that applies it, and over the axis of the examples, in further forms."""

from tests.checks.rules.findings import severities
from tests.for_each import for_each
from trimtab.checks.rules import l116_softmax_before_cross_entropy as l116
from trimtab.checks.rules import l124_softmax_over_the_batch as l124

BEGIN = (
    "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\nimport lightning\nimport torchvision\n"
    "from torch.utils.data import DataLoader\n"
    "loader = DataLoader(torchvision.datasets.MNIST('d'), batch_size=64, shuffle=True)\n"
)


def looped(*turn, model="nn.Linear(784, 10)"):
    """A loop over batches with these lines in it."""
    inside = "".join(f"    {line}\n" for line in turn)
    return (
        f"{BEGIN}model = {model}\noptimizer = torch.optim.Adam(model.parameters(), lr=1e-3)\nfor x, y in loader:\n"
        f"    optimizer.zero_grad()\n{inside}    loss.backward()\n    optimizer.step()\n"
    )


def of_module(returned, *, start="pass", before=""):
    """A module that returns this, and nothing that trains it."""
    return (
        f"{BEGIN}class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        f"        self.fc = nn.Linear(784, 10)\n        {start}\n    def forward(self, x):\n"
        f"        {before or 'pass'}\n"
        f"        return {returned}\n"
    )


FORWARD = "loss = F.nll_loss(model(x), y)"
TRAINED = (
    "model = Net()\noptimizer = torch.optim.Adam(model.parameters(), lr=1e-3)\nfor x, y in loader:\n"
    "    optimizer.zero_grad()\n    F.nll_loss(model(x), y).backward()\n    optimizer.step()\n"
)
GIVEN = (
    "def train(model, train_loader, optimizer):\n    for x, y in train_loader:\n        optimizer.zero_grad()\n"
    "        F.nll_loss(model(x), y).backward()\n        optimizer.step()\n"
)
OF_LIGHTNING = (
    BEGIN + "class Module(lightning.LightningModule):\n    def __init__(self):\n        super().__init__()\n"
    "        self.net = nn.Linear(10, 3)\n    def forward(self, x):\n"
    "        return F.log_softmax(self.net(x), dim={dim})\n"
    "    def training_step(self, batch, i):\n        x, y = batch\n        return F.nll_loss(self(x), y)\n"
)
POLICY = (
    BEGIN + "policy = nn.Linear(4, 2)\noptimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)\n"
    "for episode in range(100):\n    scores = F.log_softmax(policy(torch.tensor(env.reset())), dim=0)\n"
    "    loss = -scores[action] * reward\n    optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()\n"
)
PAIRS = "same = torch.arange(len(x)); scores = model(x) @ model(y).t()"


@for_each(
    ("text", "said"),
    [
        (looped("loss = F.nll_loss(F.log_softmax(model(x), dim=0), y)"), ["error"]),
        (looped("loss = F.nll_loss(torch.log(torch.softmax(model(x), 0) + 1e-8), y)"), ["error"]),
        (looped("scores = F.log_softmax(model(x), dim=0)", "loss = -scores.gather(1, y.unsqueeze(1)).mean()"),
         ["error"]),
        (looped("scores = model(x).log_softmax(0)", "loss = -scores[torch.arange(len(y)), y].mean()"), ["error"]),
        (looped("loss = nn.NLLLoss()(model(x), y)", model="nn.Sequential(nn.Linear(9, 3), nn.LogSoftmax(dim=0))"),
         ["error"]),
        (looped("loss = F.kl_div(F.log_softmax(model(x), dim=0), y)"), ["error"]),
        (of_module("F.log_softmax(self.fc(x.view(x.size(0), -1)), dim=0)") + TRAINED, ["error"]),
        (of_module("self.out(self.fc(x))", start="self.out = nn.LogSoftmax(dim=0)") + TRAINED, ["error"]),
        (of_module("F.log_softmax(self.fc(x), dim=0)", before="x = torch.flatten(x, 1)"), ["error"]),
        (of_module("F.log_softmax(self.fc(x), dim=0)") + GIVEN, ["warning"]),
        (OF_LIGHTNING.replace("{dim}", "0"), ["error"]),
        (OF_LIGHTNING.replace("{dim}", "-1"), []),
        (looped("loss = F.nll_loss(F.log_softmax(model(x), dim=1), y)"), []),
        (looped(PAIRS, "loss = F.nll_loss(F.log_softmax(scores, dim=0), same)"), []),
        (looped("parts = F.softmax(mix, dim=0)", "loss = F.kl_div(parts.log(), wanted) + F.mse_loss(model(x), y)")
         .replace("for x", "mix = nn.Parameter(torch.zeros(3))\nfor x"), []),
        (of_module("F.log_softmax(self.fc(x), dim=-1)") + GIVEN, []),
        (POLICY, []),
    ],
)  # fmt: skip
def test_axis_of_the_examples(text, said):
    assert severities(l124, "train.py", text) == said


def given(criterion, *, made="torch.softmax(model(x), dim=1)", after="pass"):
    """A loop in a function that is given its loss."""
    return (
        f"{BEGIN}def train(model, loader, optimizer, {criterion}):\n    for x, y in loader:\n        out = {made}\n"
        f"        loss = {criterion.partition(':')[0].partition('=')[0]}(out, y)\n        {after}\n"
        "        optimizer.zero_grad()\n        loss.backward()\n        optimizer.step()\n"
    )


CALLED = "net = nn.Linear(9, 3)\ntrain(net, loader, torch.optim.Adam(net.parameters()), {loss})\n"
KEPT = (
    BEGIN + "class Runner:\n    def __init__(self, model, criterion=nn.CrossEntropyLoss()):\n"
    "        self.model, self.criterion = model, criterion\n    def step(self, x, y):\n"
    "        loss = self.criterion(torch.softmax(self.model(x), dim=1), y)\n        loss.backward()\n"
)
JUDGED = "right = (out.argmax(1) == y).float().mean()"


@for_each(
    ("text", "said"),
    [
        (given("criterion: nn.CrossEntropyLoss"), ["error"]),
        (given("criterion=nn.CrossEntropyLoss()"), ["error"]),
        (given("loss_fn=nn.BCEWithLogitsLoss()", made="torch.sigmoid(model(x))"), ["error"]),
        (given("criterion") + CALLED.replace("{loss}", "nn.CrossEntropyLoss()"), ["error"]),
        (KEPT, ["error"]),
        (given("ce_loss"), ["warning"]),
        (given("cross_entropy_loss"), ["warning"]),
        (given("criterion", after=JUDGED), ["note"]),
        (given("criterion"), []),
        (given("criterion: nn.MSELoss", after=JUDGED), []),
        (given("dice_loss", after=JUDGED), []),
        (given("slice_loss"), []),
        (given("criterion", made="model(x)", after=JUDGED), []),
        (given("loss_fn=nn.BCELoss()", made="torch.sigmoid(model(x))"), []),
    ],
)
def test_losses_that_arrive_as_parameters(text, said):
    assert severities(l116, "train.py", text) == said
