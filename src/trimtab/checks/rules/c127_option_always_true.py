"""C127 option-always-true"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import argparse\nimport torch\nparser = argparse.ArgumentParser()\n"
    "parser.add_argument('--amp', {how})\nargs = parser.parse_args()\n"
    "optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)\n"
)

RULE = Rule(
    code="C127",
    name="option-always-true",
    severity="warning",
    message="`{option}`: {fault}",
    why="argparse hands the text of the command line to `type`. `bool('False')` is True, as is every text but the "
    "empty one; `list('1,2')` is its characters; and a flag that is True by default is True with and without it.",
    evidence=(
        Maintainer(
            "https://docs.python.org/3/library/argparse.html#type",
            "'The bool() function is not recommended as a type converter. All it does is convert empty strings to "
            "False and non-empty strings to True. This is usually not what is desired.'",
        ),
        Maintainer(
            "https://github.com/ACEsuit/mace/issues/429",
            "`--pin_memory=False` of a training script leaves it True.",
        ),
    ),
    fix=Fix("{fix}"),
    bad=Example("train.py", _SCRIPT.replace("{how}", "type=bool, default=True")),
    good=Example("train.py", _SCRIPT.replace("{how}", "action=argparse.BooleanOptionalAction, default=True")),
    symptoms=("flag is True although I pass False", "option cannot be turned off", "argparse bool"),
)
_SWITCH = "`action=argparse.BooleanOptionalAction`, which takes `--x` and `--no-x`"


def check(run: Description) -> Iterator[Diagnosis]:
    """Options of argparse whose type is `bool` or `list`, and flags that are True to begin with."""
    for call in run.document.calls:
        if call.name != "add_argument" or not call.positional or call.has_rest:
            continue
        option = next((each for each in call.positional if isinstance(each, str)), None)
        if option is None:
            continue
        kind, default = call.arguments.get("type"), call.arguments.get("default")
        action = call.arguments.get("action")
        raw = kind.raw if kind is not None else ""
        if raw == "bool":
            yield RULE.at(
                call.place,
                option=option,
                fault="with `type=bool` every non-empty string is True, even 'False'",
                fix=_SWITCH,
            )
        elif raw == "list":
            fault = "with `type=list` the string is split into characters"
            yield RULE.at(call.place, option=option, fault=fault, fix="`nargs='+'` with the type of one item")
        elif (
            action is not None
            and action.value == "store_true"
            and default is not None
            and default.value is True
        ):
            fault = "the flag is True by default, so passing it changes nothing"
            yield RULE.at(call.place, option=option, fault=fault, fix=_SWITCH)
