"""C113 essential-missing"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="C113",
    name="essential-missing",
    severity="error",
    message="`{key}` is empty, but nothing can be trained without {what}",
    why="An empty value is what a template leaves behind: the tool takes it for nothing at all, and stops or "
    "trains on nothing.",
    evidence=(
        Maintainer(
            "https://github.com/axolotl-ai-cloud/axolotl/blob/067b021/src/axolotl/utils/schemas/validation.py",
            '"either datasets or pretraining_dataset is required"; base_model and learning_rate are required '
            "by the schema.",
        ),
        Maintainer(
            "https://github.com/axolotl-ai-cloud/axolotl/blob/067b021/src/axolotl/utils/schemas/model.py",
            "`output_dir: str` has a default, but takes no null, which is what an empty value is.",
        ),
        Maintainer(
            "https://github.com/hiyouga/LLaMA-Factory/blob/ff6d4d1/src/llamafactory/hparams/model_args.py",
            '"Please provide `model_name_or_path`."',
        ),
    ),
    fix=Fix("give {what}"),
    bad=Example(
        "axolotl.yaml",
        "base_model: meta-llama/Llama-3.2-1B\ndatasets:\n  - path: data.jsonl\n    type: alpaca\n"
        "micro_batch_size: 2\ngradient_accumulation_steps: 4\nlearning_rate:\n",
    ),
    good=Example(
        "axolotl.yaml",
        "base_model: meta-llama/Llama-3.2-1B\ndatasets:\n  - path: data.jsonl\n    type: alpaca\n"
        "micro_batch_size: 2\ngradient_accumulation_steps: 4\nlearning_rate: 0.00002\n",
    ),
    symptoms=("Field required", "does not start"),
)

_ESSENTIALS = {
    "axolotl": {"base_model": "a model", "learning_rate": "a learning rate"},
    "llamafactory": {"model_name_or_path": "a model"},
    "opennmt": {"data": "data", "save_model": "a place for checkpoints"},
    "mammoth": {"tasks": "tasks", "save_model": "a place for checkpoints"},
    "eole": {"data": "data"},
}


def check(run: Description) -> Iterator[Diagnosis]:
    """Only what is written and empty: what is left out may be set on the command line or in another file."""
    essentials = dict(_ESSENTIALS.get(run.tool, {}))
    if run.tool == "axolotl" and run.written("pretraining_dataset") is None:
        essentials["datasets"] = "data"
    if (
        run.tool == "llamafactory"
        and (training := run.written("do_train")) is not None
        and training.value is True
    ):
        essentials["dataset"] = "data"
    for key, what in essentials.items():
        setting = run.written(key)
        if setting is not None and setting.value in (None, "", [], {}):
            yield RULE.at(setting, what=what)
    folder = run.written("output_dir") if run.tool == "axolotl" else None
    if folder is not None and folder.value is None:
        yield RULE.at(folder, what="a folder for checkpoints")
