"""D108 task-after-the-end"""

from collections.abc import Iterator

from trimtab.checks.corpora import corpora_of, setting_of
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_YAML = (
    "tasks:\n  train_en-de:\n    src_tgt: en-de\n    path_src: en.txt\n    path_tgt: de.txt\n"
    "    enc_sharing_group: [en]\n    dec_sharing_group: [de]\n    node_gpu: '0:0'\n  train_en-fr:\n"
    "    src_tgt: en-fr\n    path_src: en2.txt\n    path_tgt: fr.txt\n    enc_sharing_group: [en]\n"
    "    dec_sharing_group: [fr]\n    node_gpu: '0:0'\n    introduce_at_training_step: {step}\n"
    "save_model: out/model\nx_transformers_opts: {{rotary_pos_emb: true}}\ntrain_steps: 50000\n"
    "batch_type: tokens\nbatch_size: 4096\n"
)

RULE = Rule(
    code="D108",
    name="task-after-the-end",
    severity="error",
    message="task `{task}` is introduced at step {step}, but the run ends after {steps}: it is never trained",
    why="Its own components (a decoder, an adapter) keep their random weights and are saved like the others.",
    evidence=(
        Maintainer(
            "https://github.com/Helsinki-NLP/mammoth/blob/dea5665/mammoth/distributed/tasks.py",
            "Valid tasks are those that 'have already reached their curriculum starting point'.",
        ),
    ),
    fix=Fix("set `introduce_at_training_step` below {steps}"),
    bad=Example("mammoth.yaml", _YAML.format(step=60000)),
    good=Example("mammoth.yaml", _YAML.format(step=10000)),
    tips=("S1-12",),
    symptoms=("one language is never learned", "translates into nonsense for one pair"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where both steps are known."""
    steps = run.value("steps")
    if run.tool != "mammoth" or steps is None or steps <= 0:
        return
    for corpus in corpora_of(run):
        setting = setting_of(run, corpus, "introduce_at_training_step")
        if setting is not None and type(setting.value) is int and setting.value >= steps:
            yield RULE.at(setting, task=corpus.name, step=f"{setting.value:,}", steps=f"{steps:,}")
