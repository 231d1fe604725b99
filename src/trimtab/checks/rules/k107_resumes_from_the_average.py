"""K107 resumes-from-the-average"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_YAML = (
    "data:\n  corpus_1: {{path_src: train.en, path_tgt: train.de}}\n"
    "  valid: {{path_src: dev.en, path_tgt: dev.de}}\nsave_model: out/model\nencoder_type: transformer\n"
    "decoder_type: transformer\nhidden_size: 512\nword_vec_size: 512\nposition_encoding: true\n"
    "batch_type: tokens\nbatch_size: 4096\nnormalization: tokens\naverage_decay: {decay}\n"
)

RULE = Rule(
    code="K107",
    name="resumes-from-the-average",
    severity="note",
    message="with `{key}: {value}` checkpoints hold the averaged weights only, beside the optimizer's state "
    "of the others",
    why="For translation that is right. A run that is resumed continues from the average with moments that "
    "belong to other weights, and starts a new average: it is not the run that was interrupted.",
    evidence=(
        Maintainer(
            "https://github.com/OpenNMT/OpenNMT-py/blob/97111d9/onmt/models/model_saver.py",
            "`save` puts the average into the model, writes the checkpoint, and puts the weights back.",
        ),
        Maintainer(
            "https://github.com/eole-nlp/eole/blob/ce7139c/eole/trainer.py",
            "`_update_average` starts from the current weights whenever there is no average in memory.",
        ),
    ),
    fix=Fix("set it to 0 for runs that may be interrupted, and average the last checkpoints afterwards"),
    bad=Example("opennmt.yaml", _YAML.format(decay=0.0005)),
    good=Example("opennmt.yaml", _YAML.format(decay=0)),
    tips=("S0-38", "S2-43"),
    symptoms=("worse after resume", "loss jumps after resume"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires for the three tools that save so."""
    name = {"opennmt": "average_decay", "mammoth": "average_decay", "eole": "training.average_decay"}.get(
        run.tool
    )
    setting = run.written(name) if name is not None else None
    if setting is not None and type(setting.value) in (int, float) and setting.value > 0:
        yield RULE.at(setting, value=f"{setting.value:g}")
