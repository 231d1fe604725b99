"""S151 gpus-train-asynchronously"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.edits import AddKey
from trimtab.checks.evidence import Maintainer, Paper
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_YAML = (
    "type: transformer\ntrain-sets: [train.en, train.de]\nvocabs: [v.spm, v.spm]\nvalid-sets: [dev.en, dev.de]\n"
    "tied-embeddings-all: true\nenc-depth: 6\ndec-depth: 6\nmini-batch-fit: true\nlearn-rate: 0.0003\n"
    "lr-warmup: 16000\nlr-decay-inv-sqrt: 16000\nafter: 20e\ndevices: [0, 1, 2, 3]\n{sync}"
)

RULE = Rule(
    code="S151",
    name="gpus-train-asynchronously",
    severity="warning",
    message="{devices} GPUs without `sync-sgd`: each updates the weights by itself, with gradients of older ones",
    why="Without the switch, Marian trains asynchronously on several GPUs: each computes a gradient for weights that "
    "the others have changed meanwhile. Steps are as small as one GPU's batch, Adam's moments mix gradients of "
    "different weights, no two runs are alike, and transformers often end worse or diverge at a rate that is right "
    "otherwise.",
    evidence=(
        Maintainer(
            "https://github.com/marian-nmt/marian-dev/blob/c9f287d/src/command/marian_train.cpp",
            "'Using asynchronous training' where sync-sgd is off and there are several devices; the synchronous one "
            "'is presently up-to-date and best supported'. All presets of `task` set sync-sgd.",
        ),
        Paper(
            "https://arxiv.org/abs/1604.00981",
            "Chen et al. 2016: asynchronous updates use stale gradients, and synchronous ones end at a better model.",
            opened=False,
        ),
    ),
    fix=Fix("set `sync-sgd`; the batch is then that of all GPUs together"),
    bad=Example("marian.yaml", _YAML.format(sync="")),
    good=Example("marian.yaml", _YAML.format(sync="sync-sgd: true\n")),
    symptoms=("worse on several GPUs than on one", "diverged on several GPUs"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Where several GPUs are named, and nothing unseen can set the switch."""
    devices, known = run.setting("devices"), run.value("synchronous")
    if run.tool != "marian" or devices is None or devices.value < 2 or known is not False:
        return
    is_flag = run.document.syntax == "shell"
    edits = (AddKey("sync-sgd", True, after=devices.key),) if devices.is_written and not is_flag else ()
    yield RULE.at(devices, edits=edits, devices=devices.value)
