"""The house rules that a machine can check; CONTRIBUTING.md gives their reasons."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import trimtab
from trimtab.config.task_record import TASKS

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
    "export/target.py": "the model of a target that takes one kind of model, whose weights it names",
}
ASKS_FOR_THE_TASK = re.compile(
    r"match .*\btask\b|\btask (==|!=|in|not in) (?!TASKS|self)"
    rf"|(case|==|!=) \"({'|'.join(TASKS)})\""
    r"|isinstance\([^)]*(Translation|LanguageModel|Classification|Recognition)Recipe"
)
ASKS_FOR_THE_KIND_OF_MODEL = re.compile(
    r"isinstance\([^)]*\b((Decoder|EncoderDecoder|Encoder|Vision|Diffusion|Detector)Model"
    r"|DecoderOnly|EncoderDecoder|SequenceClassifier|LineReader|ImageDiffuser|Detector)\b"
)
"""Where one kind of model is told from others by its class, which stands for a task; a `match` on a union is no such
place, as the type checker finds the case that a new kind needs."""


def test_few_places_outside_of_tasks_ask_which_task_it_is():
    """`checks` describes the files of other tools, `serving` what a model does for a request, which are no tasks of a
    recipe; `config/tasks` has a file for each task."""
    asking = set()
    for path in files(SOURCES):
        name, text = path.relative_to(SOURCES), text_of(path)
        is_own = name.parts[0] in ("tasks", "checks", "serving") or name.parts[:2] == ("config", "tasks")
        if not is_own and (ASKS_FOR_THE_TASK.search(text) or ASKS_FOR_THE_KIND_OF_MODEL.search(text)):
            asking.add(str(name))
    assert asking == set(PLACES_THAT_ASK_FOR_THE_TASK)


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
