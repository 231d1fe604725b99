"""The house rules that a machine can check; CONTRIBUTING.md gives their reasons."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import get_args

import trimtab
from trimtab.config.run import Model as ModelSettings
from trimtab.config.task_record import TASKS
from trimtab.model.kinds import Model
from trimtab.model.modular.modular import Modular

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "src" / "trimtab"
TESTS = ROOT / "tests"
MOST_LINES_OF_A_FILE = 500
MOST_LINES_OF_A_FUNCTION = 60
MOST_ARGUMENTS = 7
VAGUE_NAMES = {"utils", "util", "common", "misc", "helpers", "helper", "base", "core", "internal", "manager"}

DEF = re.compile(r"^([ \t]*)(?:async )?def (\w+)", re.MULTILINE)

SIGNATURE = re.compile(r"^[ \t]*(?:async )?def \w+.*?:[^\S\n]*(?:#.*)?$", re.MULTILINE | re.DOTALL)
HAS_CODE = re.compile(r"^(?:async def|def|class) ", re.MULTILINE)

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(text_of(path))


@cache
def files(*folders: Path) -> list[Path]:
    return sorted(path for folder in folders for path in folder.rglob("*.py"))


def functions(path: Path) -> Iterator[Function]:
    return (node for node in ast.walk(tree(path)) if isinstance(node, Function))


def place(path: Path, node: ast.AST | None = None) -> str:
    line = f":{node.lineno}" if node is not None else ""
    return f"{path.relative_to(ROOT)}{line}"


def test_files_are_short():
    long = [
        place(path)
        for path in files(SOURCES, TESTS)
        if len(text_of(path).splitlines()) > MOST_LINES_OF_A_FILE
    ]
    assert long == []


def may_hold_a_long_function(path: Path) -> bool:
    """Whether the next function that is not inside begins too late somewhere, which is soon seen without a parse."""
    text = text_of(path)
    begins, line, place_in_text = [], 0, 0
    for each in DEF.finditer(text):
        line += text.count("\n", place_in_text, each.start())
        place_in_text = each.start()
        begins.append((line, len(each[1])))
    last = text.count("\n")
    for place_in_file, (line, indent) in enumerate(begins):
        after = (each for each, other in begins[place_in_file + 1 :] if other <= indent)
        if next(after, last) - line >= MOST_LINES_OF_A_FUNCTION:
            return True
    return False


def test_functions_are_short():
    long = [
        f"{place(path, node)} {node.name}"
        for path in files(SOURCES, TESTS)
        if may_hold_a_long_function(path)
        for node in functions(path)
        if node.end_lineno - node.lineno + 1 > MOST_LINES_OF_A_FUNCTION
    ]
    assert long == []


def may_take_many_arguments(path: Path) -> bool:
    """Whether some signature, up to a colon at the end of a line, has as many commas outside of annotations."""
    signatures = (re.sub(r"\[[^][]*\]", "", each[0]) for each in SIGNATURE.finditer(text_of(path)))
    return any(signature.count(",") >= MOST_ARGUMENTS for signature in signatures)


def test_functions_take_few_arguments():
    many = []
    for path in files(SOURCES):
        if path.parent == SOURCES / "cli":  # each argument of a command is an option of the command line
            continue
        if not may_take_many_arguments(path):
            continue
        for node in functions(path):
            if any(ast.unparse(each) == "triton.jit" for each in node.decorator_list):
                continue  # a kernel takes no tensors: address, size and strides of each are arguments of their own
            names = [each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
            if len([name for name in names if name not in ("self", "cls")]) > MOST_ARGUMENTS:
                many.append(f"{place(path, node)} {node.name}")
    assert many == []


def test_names_of_files_say_what_is_in_them():
    vague = [
        place(path)
        for path in files(SOURCES, TESTS)
        if VAGUE_NAMES & {path.stem.strip("_"), path.parent.name}
    ]
    assert vague == []


def test_every_source_file_with_code_has_its_test_file():
    missing = []
    for path in files(SOURCES):
        if path.parent == SOURCES / "checks" / "rules":
            continue  # the examples in a rule's own file are its test: tests/checks/test_rules.py runs them all
        if path.parent == SOURCES / "config" / "optimizers":
            continue  # settings without code of their own: tests/config/test_optimizers.py goes through the union
        has_code = HAS_CODE.search(text_of(path))
        folder = TESTS / path.relative_to(SOURCES).parent
        if has_code and not [*folder.glob(f"test_{path.stem}.py"), *folder.glob(f"test_{path.stem}_*.py")]:
            missing.append(place(path))
    assert missing == []


def test_every_test_file_tests_something():
    idle = [
        place(path)
        for path in files(TESTS)
        if path.name.startswith("test_")
        and not any(each[2].startswith("test_") for each in DEF.finditer(text_of(path)))
    ]
    assert idle == []


def may_describe_a_fixture(path: Path) -> bool:
    """Whether a signature after the word is followed by a text."""
    _, *parts = text_of(path).split("fixture")
    bodies = (part[found.end() :].lstrip() for part in parts if (found := SIGNATURE.search(part)))
    return any(body.startswith(('"', 'r"')) for body in bodies)


def test_a_fixture_that_needs_words_stands_in_one_place():
    homes: dict[str, list[str]] = {}
    for path in files(TESTS):
        if not may_describe_a_fixture(path):
            continue
        for node in functions(path):
            is_fixture = any("fixture" in ast.unparse(each) for each in node.decorator_list)
            if is_fixture and ast.get_docstring(node) is not None:
                homes.setdefault(ast.unparse(node), []).append(place(path, node))
    assert [found for found in homes.values() if len(found) > 1] == []


def test_every_folder_of_tests_is_a_package_so_that_two_files_may_have_one_name():
    folders = {path.parent for path in files(TESTS)}
    assert [place(folder) for folder in folders if not (folder / "__init__.py").exists()] == []


def test_annotations_are_not_put_off():
    # jaxtyping reads them as objects.
    late = [
        place(path)
        for path in files(SOURCES, TESTS)
        if "__future__" in text_of(path) and "from __future__ import annotations" in code_lines(path)
    ]
    assert late == []


def code_lines(path: Path) -> set[str]:
    return {ast.unparse(node) for node in tree(path).body if isinstance(node, ast.ImportFrom)}


def test_nothing_is_left_to_do():
    word = re.compile(r"\b(TODO|FIXME|XXX)\b")
    left = [place(path) for path in files(SOURCES) if word.search(text_of(path))]
    assert left == []


def test_the_map_agrees_with_the_contract():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (line,) = [contract for contract in contracts if contract["id"] == "line"]
    rows = re.findall(r"^    (\w+(?: \| \w+)*)(?:  +\S.*)?$", trimtab.__doc__, re.MULTILINE)
    assert rows == line["layers"]


LIGHT = [
    "units",
    "errors",
    "finding",
    "progress",
    "config.load",
    "config.render",
    "config.reference",
    "checks.check",
    "cli.check",
    "cli.app",
]
HEAVY = ["torch", "numpy", "sentencepiece", "sacrebleu", "safetensors", "jaxtyping"]


def test_the_light_half_loads_nothing_heavy():
    code = f"""
import importlib, sys
for module in {LIGHT}:
    importlib.import_module(f"trimtab.{{module}}")
    print(*(f"{{module}} loads {{each}}" for each in {HEAVY} if each in sys.modules), sep="\\n")
"""
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded.split("\n") == [""] * (len(LIGHT) + 1)


PLACES_THAT_ASK_FOR_THE_TASK = {
    "config/task_facts.py": "the union of the tasks, and which facts are whose",
    "config/pretrained/families.py": "a pretrained model that is for another task than the recipe's",
}
ASKS_FOR_THE_TASK = re.compile(
    r"match .*\btask\b|\btask (==|!=|in|not in) (?!TASKS|self)" rf"|(case|==|!=) \"({'|'.join(TASKS)})\""
)
A_KEY = "a key of the recipe that only these kinds have, or a rule about it"
FILES_OF_A_MODULE = "a module of transformers has files and names of its own"
MODULAR = "a modular model is taken apart by direction before anything else looks at it"
LOOKS_INSIDE = "looks into layers of trimtab; other models are not looked at"
PLACES_THAT_ASK_FOR_THE_KIND_OF_MODEL = {
    "build.py": A_KEY,
    "config/consistency.py": A_KEY,
    "config/modular_routes.py": MODULAR,
    "config/mup.py": A_KEY,
    "config/new_rows.py": "an adapter on a module of transformers trains no rows",
    "config/paths.py": "the paths of files are keys of single kinds",
    "config/trained_weights.py": A_KEY,
    "config/x_transformers_options.py": A_KEY,
    "export/card.py": "an encoder-decoder of transformers belongs to a family and has no two numbers of layers",
    "export/hf/module.py": FILES_OF_A_MODULE,
    "export/hf/module_text.py": FILES_OF_A_MODULE,
    "export/hf/target.py": FILES_OF_A_MODULE,
    "export/peft/module.py": FILES_OF_A_MODULE,
    "export/peft/target.py": FILES_OF_A_MODULE,
    "export/public_recipe.py": A_KEY,
    "export/target.py": "the model of a target that takes one kind of model, whose weights it names",
    "fit/modular_tasks.py": MODULAR,
    "fit/native.py": "the shape of each kind that has a plan; `ModelSettings.no_plan` refuses all others",
    "inference/adapter_folder.py": FILES_OF_A_MODULE,
    "inference/aligner.py": "attention to the source lies in other places, or cannot be read",
    "inference/exported.py": FILES_OF_A_MODULE,
    "inference/load.py": MODULAR,
    "inference/recorded.py": "one kind has sessions of fixed shapes",
    "inference/setup.py": "whose output layer can be cut to a shortlist, exported models among them",
    "model/modular/take_components.py": MODULAR,
    "model/peft_tensors.py": "PEFT's name of each matrix, for the models that take an adapter",
    "model/prompted.py": "modules of other libraries open their own sessions",
    "model/source_prompts.py": "modules of other libraries open their own sessions",
    "model/text_model.py": "the model of each kind",
    "shortlisting.py": "the output layer of a module of transformers cannot be cut",
    "training/context_use.py": LOOKS_INSIDE,
    "training/gradient_flow.py": LOOKS_INSIDE,
    "training/position_use.py": LOOKS_INSIDE,
    "vocabulary/run_model.py": A_KEY,
}
"""Where one kind of model is told from others by its class, and why that is not something that each kind says itself. A
`match` that ends in `assert_never` is no such place, as the type checker finds the case that a new kind needs."""


def is_a_task_or_foreign(path: Path) -> bool:
    """`checks` describes the files of other tools, `serving` what a model does for a request, which are no tasks of a
    recipe; `config/tasks` has a file for each task."""
    name = path.relative_to(SOURCES)
    return name.parts[0] in ("tasks", "checks", "serving") or name.parts[:2] == ("config", "tasks")


def test_few_places_outside_of_tasks_ask_which_task_it_is():
    asking = {
        str(path.relative_to(SOURCES))
        for path in files(SOURCES)
        if not is_a_task_or_foreign(path) and ASKS_FOR_THE_TASK.search(text_of(path))
    }
    assert asking == set(PLACES_THAT_ASK_FOR_THE_TASK)


def names_in_union(union: object) -> set[str]:
    """The names of the classes in a union, and of their bases in trimtab, except the one that all settings have."""
    if isinstance(union, type):
        bases = {each.__name__ for each in union.__mro__ if each.__module__.startswith("trimtab.")}
        return bases - {"Settings", "ModelSettings"}
    return {name for member in get_args(union) for name in names_in_union(member)}


def asks_for_one_of(names: set[str], node: ast.AST) -> bool:
    """Whether `node` tells one of these classes from others, with nothing to find the place once there is a new one."""
    match node:
        case ast.Call(func=ast.Name("isinstance"), args=[_, kinds]):
            return bool(names & {each.id for each in ast.walk(kinds) if isinstance(each, ast.Name)})
        case ast.Match(cases=cases):
            asked = {
                each.cls.id
                for case in cases
                for each in ast.walk(case.pattern)
                if isinstance(each, ast.MatchClass) and isinstance(each.cls, ast.Name)
            }
            return bool(names & asked) and not ast.unparse(cases[-1].body).startswith("assert_never(")
        case _:
            return False


def test_places_that_ask_for_the_kind_of_model_have_their_reasons():
    names = names_in_union(ModelSettings) | names_in_union(Model) | names_in_union(Modular)
    assert {
        "EncoderDecoderModel",
        "XTransformersModel",
        "DecoderOnly",
        "CausalModule",
        "Transformer",
    } <= names
    named = re.compile(rf"\b({'|'.join(sorted(names))})\b")
    asking = {
        str(path.relative_to(SOURCES))
        for path in files(SOURCES)
        if not is_a_task_or_foreign(path) and named.search(text_of(path))
        if any(asks_for_one_of(names, node) for node in ast.walk(tree(path)))
    }
    assert asking == set(PLACES_THAT_ASK_FOR_THE_KIND_OF_MODEL)


def test_a_match_is_a_question_unless_the_type_checker_finds_what_it_lacks():
    asked = "match x:\n case DecoderModel():\n  pass\n case _:\n  {}"
    for last, asks in (("pass", True), ("raise ValueError", True), ("assert_never(x)", False)):
        assert asks_for_one_of({"DecoderModel"}, ast.parse(asked.format(last)).body[0]) is asks
    assert asks_for_one_of({"A", "B"}, ast.parse("isinstance(x.y(), B | C)", mode="eval").body)
    assert not asks_for_one_of({"A", "B"}, ast.parse("isinstance(x.y(), C)", mode="eval").body)


def test_a_run_is_built_and_trained_through_what_every_task_gives():
    """`task_of` alone knows the tasks; commands and names of the package are for one of them."""
    tasks = [folder.name for folder in (SOURCES / "tasks").iterdir() if (folder / "task.py").exists()]
    assert len(tasks) >= len(TASKS)
    one_task = re.compile(rf"trimtab\.tasks\.({'|'.join([*tasks, 'text', 'images'])})\b")
    asking = {
        str(path.relative_to(SOURCES))
        for path in files(SOURCES)
        if path.relative_to(SOURCES).parts[0] not in ("tasks", "cli") and one_task.search(text_of(path))
    }
    assert asking == {"__init__.py"}


def test_messages_name_extras_that_there_are():
    extras = tomllib.loads(text_of(ROOT / "pyproject.toml"))["project"]["optional-dependencies"]
    named = [
        (place(path), name)
        for path in files(SOURCES)
        for several in re.findall(r"trimtab\[([\w,]+)\]", text_of(path))
        for name in several.split(",")
    ]
    assert named
    assert [each for each in named if each[1] not in extras] == []


def test_private_modules_of_pytorch_are_imported_where_they_are_used():
    """`import torch` brings another selection of them in each version."""
    loose = [
        place(path, node)
        for path in files(SOURCES)
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Attribute)
        and node.value.attr.startswith("_")
        and isinstance(node.value.value, ast.Name)
        and node.value.value.id == "torch"
        and node.value.attr != "_C"
    ]
    assert loose == []
