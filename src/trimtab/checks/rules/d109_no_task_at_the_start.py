"""D109 no-task-at-the-start"""

from collections import defaultdict
from collections.abc import Iterator

from trimtab.checks.corpora import Corpus, corpora_of
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_YAML = (
    "tasks:\n  train_en-de:\n    src_tgt: en-de\n    path_src: en.txt\n    path_tgt: de.txt\n"
    "    enc_sharing_group: [en]\n    dec_sharing_group: [de]\n    node_gpu: '0:0'\n"
    "    introduce_at_training_step: {step}\nsave_model: out/model\n"
    "x_transformers_opts: {{rotary_pos_emb: true}}\ntrain_steps: 50000\nbatch_type: tokens\n"
    "batch_size: 4096\n"
)

RULE = Rule(
    code="D109",
    name="no-task-at-the-start",
    severity="error",
    message="device {device} has no task to train in the first step: each has weight 0 or starts later",
    why="Mammoth checks this for each device when it starts, and refuses to run.",
    evidence=(
        Maintainer(
            "https://github.com/Helsinki-NLP/mammoth/blob/dea5665/mammoth/distributed/tasks.py",
            "`_sanity_check_tasks` raises 'Invalid curriculum: no corpus is ready to start in the first "
            "step'.",
        ),
    ),
    fix=Fix("give one task of device {device} a weight above 0 and `introduce_at_training_step: 0`"),
    bad=Example("mammoth.yaml", _YAML.format(step=1000)),
    good=Example("mammoth.yaml", _YAML.format(step=0)),
    symptoms=("Invalid curriculum", "the run stops at once"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where every task says on which device it runs."""
    devices: dict[str, list[Corpus]] = defaultdict(list)
    for corpus in corpora_of(run) if run.tool == "mammoth" else ():
        device = corpus.options.get("node_gpu")
        if not isinstance(device, str):
            return
        devices[device].append(corpus)
    for device, corpora in devices.items():
        if all(_is_idle(corpus) for corpus in corpora):
            first = corpora[0].key
            options = ("introduce_at_training_step", "weight")
            found = (run.written(f"{first}.{option}") for option in options)
            yield RULE.at(next((setting for setting in found if setting), run.place), device=device)


def _is_idle(corpus: Corpus) -> bool:
    weight, start = corpus.options.get("weight", 1), corpus.options.get("introduce_at_training_step", 0)
    return (type(weight) in (int, float) and weight == 0) or (type(start) is int and start > 0)
