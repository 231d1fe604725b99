"""What each tool's YAML makes of a plain scalar: `1e-4` is text for most trainers and a number for two.

pyyaml      PyYAML 6 `SafeLoader`: transformers, TRL, Accelerate, Axolotl, Eole; OpenNMT-py and Mammoth through
            configargparse, which then reads the text again with the option's type
omegaconf   OmegaConf 2.3 `get_yaml_loader`: PyYAML's rules after its own rule for floats; LLaMA-Factory
yaml12      ruamel.yaml's YAML 1.2: our own recipes

Dates stay text in all of them: no setting is a date.
"""

import re
from collections.abc import Callable
from typing import Any, Final

from trimtab.checks.document import Dialect
from trimtab.checks.read.decode import printable
from trimtab.checks.read.nodes import ScalarNode

LONGEST: Final = 200
"""Characters of a number; more digits are kept as text: no float holds them, and arithmetic takes for ever."""

Resolve = Callable[[ScalarNode], Any]

_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_TRUE_12, _FALSE_12 = frozenset(("true", "True", "TRUE")), frozenset(("false", "False", "FALSE"))
_TRUE_11 = _TRUE_12 | {"yes", "Yes", "YES", "on", "On", "ON"}
_FALSE_11 = _FALSE_12 | {"no", "No", "NO", "off", "Off", "OFF"}
_INFINITE = r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"

_FLOAT: dict[Dialect, re.Pattern[str]] = {
    "pyyaml": re.compile(
        r"[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?"
        r"|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*" + _INFINITE
    ),
    "omegaconf": re.compile(
        r"[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?|[-+]?[0-9]+(?:_[0-9]+)*[eE][-+]?[0-9]+"
        r"|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*" + _INFINITE
    ),
    "yaml12": re.compile(
        r"[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?|[-+]?[0-9][0-9_]*[eE][-+]?[0-9]+"
        r"|[-+]?\.[0-9_]+(?:[eE][-+][0-9]+)?" + _INFINITE
    ),
}
_INT_11 = re.compile(
    r"[-+]?(?:0b[01_]+|0[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+|[1-9][0-9_]*(?::[0-5]?[0-9])+)"
)
_INT_12 = re.compile(r"[-+]?(?:0b[01_]+|0o[0-7_]+|[0-9_]+|0x[0-9a-fA-F_]+)")


def resolver(dialect: Dialect) -> Resolve:
    """The reading of scalars by one dialect."""
    return lambda node: _resolve(node, dialect)


def plain(text: str, dialect: Dialect) -> Any:
    """What a scalar without quotes is: None, bool, int, float, or the text itself."""
    if text in _NULLS:
        return None
    true, false = (_TRUE_12, _FALSE_12) if dialect == "yaml12" else (_TRUE_11, _FALSE_11)
    if text in true:
        return True
    if text in false:
        return False
    if text[0] in "-+.0123456789" and len(text) <= LONGEST:
        number = _number(text, dialect)
        if number is not None:
            return number
    return printable(text)


def _resolve(node: ScalarNode, dialect: Dialect) -> Any:
    if node.is_plain:
        return plain(node.text, dialect)
    match node.tag:
        case "null":
            return None
        case "bool":
            return node.text.lower() in ("true", "yes", "on")
        case "int":
            return _tried(_whole_11, node.text)
        case "float":
            return _tried(_real, node.text)
        case _:
            return node.value


def _number(text: str, dialect: Dialect) -> int | float | None:
    # No text is both, so the order in which a loader asks does not matter.
    whole, read = (_INT_12, _whole_12) if dialect == "yaml12" else (_INT_11, _whole_11)
    if whole.fullmatch(text):
        number = _tried(read, text)
    elif _FLOAT[dialect].fullmatch(text):
        number = _tried(_real, text)
    else:
        return None
    return number if isinstance(number, int | float) else None


def _tried(read: Callable[[str], int | float], text: str) -> int | float | str:
    if len(text) > LONGEST:
        return printable(text)
    try:
        return read(text)
    except (ValueError, OverflowError):
        return printable(text)


def _real(text: str) -> float:
    digits = text.replace("_", "").lower()
    if ":" in digits:
        sign = -1.0 if digits.startswith("-") else 1.0
        parts = [float(part) for part in digits.lstrip("+-").split(":")]
        return sign * sum(part * 60.0**power for power, part in enumerate(reversed(parts)))
    return float(digits.replace(".inf", "inf").replace(".nan", "nan"))


def _whole_11(text: str) -> int:
    digits = text.replace("_", "")
    sign, digits = (-1 if digits.startswith("-") else 1), digits.lstrip("+-")
    if ":" in digits:
        return sign * sum(int(part) * 60**power for power, part in enumerate(reversed(digits.split(":"))))
    if digits.startswith(("0b", "0x")):
        return sign * int(digits[2:], 2 if digits[1] == "b" else 16)
    return sign * int(digits, 8 if digits.startswith("0") and digits != "0" else 10)


def _whole_12(text: str) -> int:
    digits = text.replace("_", "")
    sign, digits = (-1 if digits.startswith("-") else 1), digits.lstrip("+-")
    bases = {"0b": 2, "0o": 8, "0x": 16}
    return sign * (int(digits[2:], bases[digits[:2]]) if digits[:2] in bases else int(digits))
