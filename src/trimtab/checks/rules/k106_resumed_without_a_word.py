"""K106 resumed-without-a-word"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_YAML = (
    "model_name_or_path: Qwen/Qwen3-4B\nstage: sft\ndo_train: true\nfinetuning_type: lora\ndataset: mine\n"
    "template: qwen3\noutput_dir: out\nper_device_train_batch_size: 4\n{overwrite}"
)

RULE = Rule(
    code="K106",
    name="resumed-without-a-word",
    severity="note",
    message="if {folder} holds a checkpoint, LLaMA-Factory resumes from it automatically",
    why="That is right after a crash. After a change of data, template or learning rate the old run "
    "continues instead of a new one starting, and if it was finished nothing is trained at all.",
    evidence=(
        Maintainer(
            "https://github.com/hiyouga/LLaMA-Factory/blob/ff6d4d1/src/llamafactory/hparams/parser.py",
            "Without `resume_from_checkpoint` and `overwrite_output_dir` the last checkpoint in `output_dir` "
            "is taken.",
        ),
        Maintainer(
            "https://github.com/hiyouga/LlamaFactory/issues/7085",
            "Resuming with another data set skips training and continues to evaluation (title only).",
            opened=False,
        ),
    ),
    fix=Fix("give each run a folder of its own, or set `overwrite_output_dir: true`"),
    bad=Example("llamafactory.yaml", _YAML.format(overwrite="")),
    good=Example("llamafactory.yaml", _YAML.format(overwrite="overwrite_output_dir: true\n")),
    symptoms=("training ends at once", "changes have no effect", "worse after resume"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires for training runs that leave both keys alone."""
    folder, trains = run.written("output_dir"), run.written("do_train")
    if run.tool != "llamafactory" or folder is None or trains is None or trains.value is not True:
        return
    stage = run.written("stage")
    if stage is not None and stage.value in ("rm", "ppo"):
        return
    chosen = (run.written("overwrite_output_dir"), run.written("resume_from_checkpoint"))
    if not any(setting is not None and setting.value for setting in chosen):
        yield RULE.at(folder, folder=folder.value)
