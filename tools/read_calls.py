"""Writes `src/trimtab/checks/signatures.json`: what calls and methods of the installed libraries take.

    python tools/read_calls.py OLD.whl ...

Calls and methods are read from the packages that are installed: transformers, trl, peft, accelerate, lightning. The
wheels are older versions of them (`pip download --no-deps trl==0.24.0`); only names are read from those, and nothing of
them is imported: what an older version offers at its top and the installed one does not is gone.

    {
      "versions": {"trl": "1.16.0"},
      "calls": {"trl.SFTTrainer": "model args ..."},             arguments of what takes no others
      "passed": {"transformers.Trainer.log": "2 start_time"},    what the library passes to a method that people
                                                                 override: most arguments by position, then names
      "gone": {"trl": {"0.24.0": "CPOTrainer>trl.experimental.cpo"}}   by the newest older version that has them, and
                                                                 the package that offers such a name now
    }
"""

import ast
import importlib
import inspect
import json
import re
import sys
import zipfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

TO = Path(__file__).parents[1] / "src/trimtab/checks/signatures.json"
LIBRARIES = ("transformers", "trl", "peft", "accelerate", "lightning")
READ = {
    "transformers": r"Trainer|Seq2SeqTrainer|DataCollator\w+|EarlyStoppingCallback|get_\w*schedule\w*|get_scheduler",
    "trl": r"\w+Trainer|DataCollator\w+",
    "peft": r"get_peft_model|prepare_model_for_kbit_training|\w+Config",
    "accelerate": r"Accelerator|\w+Plugin|\w+Kwargs",
    "lightning.pytorch": r"Trainer",
    "lightning.pytorch.callbacks": r"[A-Z]\w+",
    "lightning.pytorch.loggers": r"[A-Z]\w+",
}
OF_TABLES = {"peft.LoraConfig", "peft.AdaLoraConfig", "peft.OFTConfig"}
"""Whose arguments are in a table of keys."""
OVERRIDDEN = {"transformers.Trainer": "transformers.trainer", "lightning.pytorch.LightningModule": None}
HOOKS = {
    "lightning.pytorch.LightningModule": {
        "optimizer_step": "4", "lr_scheduler_step": "2", "configure_gradient_clipping": "1 gradient_clip_val "
        "gradient_clip_algorithm", "on_before_optimizer_step": "1", "optimizer_zero_grad": "3", "backward": "1",
    }
}  # fmt: skip
"""Hooks that Lightning calls through `call._call_lightning_module_hook`, by hand from `lightning/pytorch` 2.6."""


def main() -> None:
    """Writes the table."""
    table: dict[str, Any] = {"versions": {name: version(name) for name in LIBRARIES}}
    table["calls"] = dict(sorted(calls()))
    table["passed"] = dict(sorted(passed()))
    table["gone"] = gone([Path(each) for each in sys.argv[1:]])
    TO.write_text(json.dumps(table, indent=1, ensure_ascii=False) + "\n")


def calls() -> Iterator[tuple[str, str]]:
    """Each call that takes no other arguments than those it names."""
    for module, pattern in READ.items():
        found = importlib.import_module(module)
        for name in dir(found):
            if not re.fullmatch(pattern, name) or f"{module}.{name}" in OF_TABLES:
                continue
            try:
                parameters = inspect.signature(getattr(found, name)).parameters.values()
            except (TypeError, ValueError, ImportError, RuntimeError):
                continue
            if any(each.kind is each.VAR_KEYWORD for each in parameters):
                continue
            names = [each.name for each in parameters if each.kind is not each.VAR_POSITIONAL]
            yield f"{module}.{name}", " ".join(names)


def passed() -> Iterator[tuple[str, str]]:
    """What a trainer passes to its own methods."""
    for owner, module in OVERRIDDEN.items():
        if module is None:
            yield from ((f"{owner}.{name}", what) for name, what in HOOKS[owner].items())
            continue
        tree = ast.parse(inspect.getsource(importlib.import_module(module)))
        most: dict[str, int] = {}
        names: dict[str, set[str]] = {}
        for node in ast.walk(tree):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id="self"), attr=name), args=args, keywords=keywords
                ):
                    if any(isinstance(each, ast.Starred) for each in args) or not all(
                        each.arg for each in keywords
                    ):
                        continue
                    most[name] = max(most.get(name, 0), len(args))
                    names.setdefault(name, set()).update(each.arg for each in keywords if each.arg)
                case _:
                    pass
        methods = {each.name for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)}
        for name in sorted(most.keys() & methods):
            yield f"{owner}.{name}", " ".join([str(most[name]), *sorted(names[name])])


def gone(wheels: list[Path]) -> dict[str, dict[str, str]]:
    """By library and older version: names at the top that the installed one has not."""
    told: dict[str, dict[str, str]] = {}
    for wheel in sorted(wheels, key=lambda each: ordered(each), reverse=True):
        library, number = wheel.name.split("-")[:2]
        library = library.replace("pytorch_lightning", "lightning")
        package = importlib.import_module("lightning.pytorch" if library == "lightning" else library)
        now = set(dir(package)) | set(getattr(package, "__all__", ()))
        known = {name.partition(">")[0] for names in told.get(library, {}).values() for name in names.split()}
        lost = sorted(
            name
            for name in names_of(wheel, library) - now - known
            if not re.match(r"TF[A-Z]|Flax[A-Z]|_", name) and not hasattr(package, name)  # some are aliases
        )
        if lost:
            homes = homes_of(Path(str(package.__file__)).parent, set(lost), library)
            told.setdefault(library, {})[number] = " ".join(
                f"{name}>{homes[name]}" if name in homes else name for name in lost
            )
    return told


def ordered(wheel: Path) -> tuple[str, tuple[int, ...]]:
    """The library of a wheel and its version, to be sorted by."""
    return wheel.name.split("-")[0], tuple(map(int, re.findall(r"\d+", wheel.name.split("-")[1])))


def names_of(wheel: Path, library: str) -> set[str]:
    """Names that a wheel's package offers at its top: its lazy structure, its plain imports, `__all__` of models."""
    found: set[Any] = set()
    root = "pytorch_lightning" if library == "lightning" else library
    with zipfile.ZipFile(wheel) as archive:
        for path in archive.namelist():
            is_top = path == f"{root}/__init__.py"
            if not is_top and not re.match(rf"{root}/models/\w+/\w+\.py$", path):
                continue
            if not is_top:  # by its text: to parse thousands of models takes minutes
                listed = re.search(r"(?m)^__all__ = \[([^\]]*)\]", archive.read(path).decode())
                found.update(re.findall(r"\"(\w+)\"", listed[1]) if listed else ())
                continue
            for node in ast.walk(ast.parse(archive.read(path))):
                match node:
                    case ast.Dict(values=values):
                        lists = [each for each in values if isinstance(each, ast.List)]
                        found.update(
                            each.value for one in lists for each in one.elts if isinstance(each, ast.Constant)
                        )
                    case ast.Call(func=ast.Attribute(attr="extend" | "append"), args=[ast.List(elts=items)]):
                        found.update(each.value for each in items if isinstance(each, ast.Constant))
                    case ast.ImportFrom(names=names, level=level) if level > 0:
                        found.update(each.asname or each.name for each in names)
                    case _:
                        pass
    return {name for name in found if isinstance(name, str) and name.isidentifier()}


def homes_of(folder: Path, names: set[str], library: str) -> dict[str, str]:
    """Where a class or function of a name is defined now, as the shortest package that offers it."""
    homes: dict[str, str] = {}
    for path in sorted(folder.rglob("__init__.py"), key=lambda each: (len(each.parts), each)):
        if path.parent != folder:
            for name in names & set(re.findall(r"\w+", path.read_text())):
                homes.setdefault(name, ".".join([library, *path.parent.relative_to(folder).parts]))
    return homes


if __name__ == "__main__":
    main()
