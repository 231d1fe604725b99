"""L123 adversarial-loss"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Paper
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import root
from trimtab.checks.read.flow.slices import plain
from trimtab.checks.read.flow.values import Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
    "net = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 784))\n{judge}"
    "optimizer = torch.optim.Adam(net.parameters(), lr=2e-4)\n"
    "for x, _ in loader:\n{step}    optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()\n"
)
_JUDGE = (
    "critic = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 1))\n"
    "critic_optimizer = torch.optim.Adam(critic.parameters(), lr=2e-4)\n"
)
_ADVERSARIAL = (
    "    fake = net(torch.randn(len(x), 64))\n"
    "    critic_loss = F.softplus(critic(fake.detach())).mean() + F.softplus(-critic(x)).mean()\n"
    "    critic_optimizer.zero_grad()\n    critic_loss.backward()\n    critic_optimizer.step()\n"
    "    loss = F.softplus(-critic(fake)).mean()\n"
)
_PLAIN = "    loss = F.mse_loss(net(x), x)\n"

RULE = Rule(
    code="L123",
    name="adversarial-loss",
    severity="note",
    message="a generator is trained against a discriminator (a GAN): its loss does not measure image quality",
    why="Two networks that train against each other have no loss that falls as images get better, so neither loss can "
    "select a checkpoint or reveal a failure; training can circle, and a generator can miss modes of the data "
    "without a change in the loss. A diffusion model has one loss, a squared error that can be measured on held-out "
    "images, and covers the data.",
    evidence=(
        Arithmetic(
            "At the equilibrium the discriminator says 1/2 of every image, so that its loss is 2 ln 2 = 1.386; a "
            "discriminator that has learned nothing says 1/2 too, and has the same loss."
        ),
        Paper(
            "https://arxiv.org/abs/2105.05233",
            "Diffusion models had a better FID than the best GANs on ImageNet, and a higher recall: they cover more of "
            "the data.",
            opened=False,
        ),
        Paper(
            "https://arxiv.org/abs/1801.04406",
            "Unregularized GAN training is not always locally convergent, shown on a model of two parameters.",
            opened=False,
        ),
    ),
    fix=Fix(
        "if the aim is to make images, train a diffusion model (`task: diffusion`, docs/how_to/make_images.md); if an "
        "adversarial term sharpens a decoder that has a loss of its own, keep a held-out measure beside it"
    ),
    bad=Example("train.py", _SCRIPT.format(judge=_JUDGE, step=_ADVERSARIAL)),
    good=Example("train.py", _SCRIPT.format(judge="", step=_PLAIN)),
    symptoms=("mode collapse", "discriminator loss goes to zero", "generator loss rises"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """What one module makes is given to another twice: detached, which trains the judge, and whole, which trains the
    maker."""
    detached: dict[tuple[int, int], Value] = {}
    whole: set[tuple[int, int]] = set()
    for event in flow_of(run.document).events:
        call = event.value
        if event.kind != "call" or event.name != "__call__" or not call.args:
            continue
        judge, made = root(call.of), plain(call.args[0])
        if judge is None or made is None or made.name != "__call__" or root(made.of) in (None, judge):
            continue
        key = (id(judge), id(made))
        if _is_detached(call.args[0]):
            detached.setdefault(key, call)
        else:
            whole.add(key)
    for key, call in detached.items():
        if key in whole and call.place is not None:
            yield RULE.at(call.place)


def _is_detached(value: Value | None) -> bool:
    while value is not None and value.made == "call" and value.of is not None and value.name != "__call__":
        if value.name == "detach":
            return True
        value = value.of
    return False
