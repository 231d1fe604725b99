"""D122 shuffle-beside-sampler"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import options
from trimtab.checks.read.flow.values import Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "from torch.utils.data import DataLoader\nfrom torch.utils.data.distributed import DistributedSampler\n"
    "sampler = DistributedSampler(data)\nloader = DataLoader(data, batch_size=8, sampler=sampler{shuffle})\n"
)

RULE = Rule(
    code="D122",
    name="shuffle-beside-sampler",
    severity="error",
    message="`DataLoader` with a sampler and `shuffle=True` raises: the sampler already says the order",
    why="`sampler` and `shuffle` both give the order of the data. PyTorch refuses them together with a "
    "ValueError, in a "
    "script whose sampler depends on the launch only when it first runs on several GPUs.",
    evidence=(
        Maintainer(
            "https://github.com/pytorch/pytorch/blob/v2.13.0/torch/utils/data/dataloader.py",
            '`if sampler is not None and shuffle: raise ValueError("sampler option is mutually exclusive '
            'with shuffle")`.',
        ),
    ),
    fix=Fix("write `shuffle=sampler is None`, and let the sampler shuffle"),
    bad=Example("train.py", _SCRIPT.format(shuffle=", shuffle=True")),
    good=Example("train.py", _SCRIPT.format(shuffle="")),
    symptoms=("sampler option is mutually exclusive with shuffle",),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """`DataLoader` of torch with `shuffle=True` and a sampler that is one at least in some branch."""
    for event in flow_of(run.document).named("DataLoader"):
        loader = event.value
        shuffle, sampler = loader.argument(2, "shuffle"), loader.argument(3, "sampler")
        if (
            loader.of is None
            and loader.name.startswith("torch.")
            and shuffle is not None
            and shuffle.constant is True
        ) and any(_is_sampler(each) for each in options(sampler)):
            yield RULE.at(event.place)
            return


def _is_sampler(value: Value) -> bool:
    return value.made == "call" and value.last.endswith("Sampler")
