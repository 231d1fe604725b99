"""C123 key-written-twice"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.document import Repeated
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.setting import Setting

_BAD = (
    "base_model: meta-llama/Llama-3.1-8B\nmicro_batch_size: 2\nlearning_rate: 1.0e-4\nnum_epochs: 3\n"
    "datasets: [{path: data.jsonl, type: alpaca}]\nlearning_rate: 2.0e-5\n"
)
RULE = Rule(
    code="C123",
    name="key-written-twice",
    severity="error",
    message="`{repeated}` is written in line {line} already; {outcome}",
    why="One of the two values is not used, and nothing in the log says which. Readers of JSON and of YAML "
    "take the last silently; some refuse the file.",
    evidence=(
        Maintainer(
            "https://github.com/yaml/pyyaml/issues/165",
            "PyYAML does not refuse a repeated key, although YAML says that keys are unique: it overwrites what was "
            "read before. The issue is open.",
        ),
        Maintainer(
            "https://github.com/omry/omegaconf/pull/257",
            "OmegaConf, which reads the YAML of LLaMA-Factory, raises ConstructorError for a repeated key.",
        ),
    ),
    fix=Fix("keep the one you mean and remove the other"),
    bad=Example("axolotl.yaml", _BAD),
    good=Example("axolotl.yaml", _BAD.replace("learning_rate: 1.0e-4\n", "")),
    symptoms=("setting has no effect", "value is not used", "found duplicate key"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """An error, but a warning where both values are the same and the tool takes the file."""
    refuses = run.tool == "llamafactory" and run.document.syntax == "yaml"
    for each in run.document.repeated:
        outcome = "OmegaConf refuses the file" if refuses else "this one counts, and the first is not used"
        yield RULE.at(
            _setting(each),
            repeated=each.key,
            line=each.first.line,
            outcome=outcome,
            severity="warning" if each.is_same and not refuses else None,
        )


def _setting(repeated: Repeated) -> Setting:
    return Setting(key=repeated.key, value=None, place=repeated.again)
