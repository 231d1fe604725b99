"""C131 unsloth-imported-late"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.place import Place
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_LOAD = "model, tokenizer = FastLanguageModel.from_pretrained('unsloth/Llama-3.2-1B', max_seq_length=2048)\n"
_UNSLOTH, _TRL = "from unsloth import FastLanguageModel\n", "from trl import SFTTrainer\n"

RULE = Rule(
    code="C131",
    name="unsloth-imported-late",
    severity="warning",
    message="`unsloth` is imported after `{first}`: the script may use parts of it without Unsloth's patches",
    why="Unsloth patches transformers, TRL and PEFT when it is imported. Names that were imported earlier stay bound "
    "to the unpatched versions.",
    evidence=(
        Maintainer(
            "https://github.com/unslothai/unsloth/blob/004d44eb0711fe6c9680feb7a609abb1c3d50d90/unsloth/__init__.py",
            "'Unsloth should be imported before [trl, transformers, peft] to ensure all optimizations are applied. "
            "Your code may run slower or encounter memory issues without these optimizations.'",
        ),
    ),
    fix=Fix("move the import of `unsloth` to the top", safety="same training"),
    bad=Example("train.py", _TRL + _UNSLOTH + _LOAD),
    good=Example("train.py", _UNSLOTH + _TRL + _LOAD),
    symptoms=("Unsloth should be imported before transformers", "unsloth is slower than it should be"),
)
_PATCHED = ("transformers", "trl", "peft")


def check(run: Description) -> Iterator[Diagnosis]:
    """Imports of a script in the order of its lines; what a function imports may be meant for some runs alone."""
    document = run.document
    if (
        document.path.endswith(".ipynb")
        or "unsloth" not in document.imports
        or not document.imports & set(_PATCHED)
    ):
        return
    first, is_text = "", False
    for number, line in enumerate(document.text.split("\n"), start=1):
        quotes = line.count('"""') + line.count("'''")
        is_code, is_text = not is_text, is_text != (quotes % 2 == 1)
        words = line.replace(",", " ").split()
        if not is_code or len(words) < 2 or not line.startswith(("import ", "from ")):
            continue
        package = words[1].partition(".")[0]
        if package == "unsloth":
            if first:
                yield RULE.at(Place(document.path, number, 1), first=first)
            return
        first = first or (package if package in _PATCHED else "")
