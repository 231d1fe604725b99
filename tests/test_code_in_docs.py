"""Code of the README and the pages of docs/: recipes load, calls of trimtab fit its functions, keys exist.

A block that is no recipe, or needs a model that tests do not have, says so in a comment above it: `<!-- not a recipe:
... -->`, or `<!-- not loaded: ... -->`, whose keys are looked at. Pages that `tools/write_pages.py` writes are tested
where their text comes from.
"""

import ast
import inspect
import re
import subprocess
import tomllib
from pathlib import Path

from ruamel.yaml import YAML

import trimtab
from tests.for_each import for_each
from tests.test_written_commands import CALLS
from tests.tools.loaded import load_tool
from trimtab import parts
from trimtab.config.load import load_recipe
from trimtab.config.places import known_keys
from trimtab.errors import InputError

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
blocks = load_tool("markdown_pages").blocks
api = load_tool("api_pages")
WRITTEN = ("rules", "api", "tips", "decisions")
PAGES = [
    ROOT / "README.md",
    *(each for each in sorted(DOCS.rglob("*.md")) if each.relative_to(DOCS).parts[0] not in WRITTEN),
]
BLOCKS = [(page, block) for page in PAGES for block in blocks(page.read_text(encoding="utf-8"))]
TRAIN = {"source": "a.en", "target": "a.de"}
REST = {
    "translation": {"data": {"train": [TRAIN], "valid": TRAIN}, "model": {"preset": "tiny"}},
    "language_model": {"data": {"train": [{"text": "a.txt"}], "valid": {"text": "b.txt"}}},
    "classification": {"data": {"train": [{"pairs": "a.tsv", "source": 1, "target": 2}]}},
    "image_classification": {}, "recognition": {}, "detection": {}, "diffusion": {},
}  # fmt: skip
"""What a part of a recipe leaves out, by task."""

KNOWN = {re.sub(r"\.\d+", "", each) for each in known_keys()}


def of(language):
    return [(page, block) for page, block in BLOCKS if block.language == language]


def where(case):
    return f"{case[0].relative_to(ROOT)} line {case[1].line}"


def is_marked(block, what):
    return any(mark.startswith(f"{what}: ") for mark in block.marks)


def keys_of(tree, above=""):
    """The dotted keys of a tree of settings."""
    for key, value in tree.items():
        yield f"{above}{key}"
        if isinstance(value, dict):
            yield from keys_of(value, f"{above}{key}.")


def completed(tree, task):
    """The recipe that a block shows, with what it leaves out."""
    rest = REST[task]
    model = tree.get("model", rest.get("model"))
    if model is not None and model.get("warm_start"):  # the sizes are those of a run that is not here
        model = {"preset": "tiny", **model, "warm_start": None, "warm_start_positions": "same"}
    whole = {"task": task, "length": "90000 steps", **rest, **tree, "model": model}
    whole["data"] = {**rest.get("data", {}), **tree.get("data", {})}
    return {key: value for key, value in whole.items() if value is not None}


@for_each(("page", "block"), of("yaml"), called=where)
def test_a_block_of_yaml_is_a_recipe_or_says_what_it_is(page, block):
    if is_marked(block, "not a recipe"):
        return
    tree = YAML(typ="safe").load(inspect.cleandoc(f"\n{block.text}"))
    if is_marked(block, "not loaded"):
        components = ("model.directions.", "model.encoder_components.", "model.decoder_components.")
        keys = (
            re.sub(r"^data\.valid\.(new|old|held_out|general)\b", "data.valid", key) for key in keys_of(tree)
        )
        assert [key for key in keys if key not in KNOWN and not key.startswith(components)] == []
        return
    errors = []
    for task in [tree["task"]] if "task" in tree else ["translation", "language_model"]:
        try:
            assert load_recipe(completed(tree, task)).recipe.task == task
        except InputError as error:
            errors.append(error)
        else:
            return
    raise ExceptionGroup("a recipe of none of these tasks", errors)


def homes_of(tree):
    """The modules of what a block takes from trimtab, by the names that it has there."""
    homes = {f"trimtab.{name}": home for name, home in trimtab.HOMES.items()}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("trimtab"):
            known = {"trimtab": trimtab.HOMES, "trimtab.parts": parts.HOMES, "trimtab.guard": api.GUARD}
            for alias in node.names:
                homes[alias.name] = known.get(node.module, {alias.name: node.module})[alias.name]
    return homes


def taken(node):
    """The names that a call may use, and how many arguments it may have without one."""
    if isinstance(node, ast.ClassDef):
        inits = [each for each in node.body if getattr(each, "name", None) == "__init__"]
        fields = [each.target.id for each in node.body if isinstance(each, ast.AnnAssign)]
        return taken(inits[0]) if inits else (set(fields), len(fields))
    given = [each.arg for each in node.args.args if each.arg != "self"]
    return {*given, *(each.arg for each in node.args.kwonlyargs)}, 99 if node.args.vararg else len(given)


NOT_RUN = [case for case in of("python") if case[0].name != "functions.md" and case[0].parent.name != "loops"]
"""The others run in tests/test_parts.py and tests/loops."""


@for_each(("page", "block"), NOT_RUN, called=where)
def test_a_block_of_python_takes_what_there_is_and_calls_it_as_it_wants(page, block):
    tree = ast.parse(block.text)
    homes = homes_of(tree)
    definitions = {name: api.definition(home, name.rpartition(".")[2]) for name, home in homes.items()}
    assert [name for name, node in definitions.items() if node is None] == []
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        called = ast.unparse(call.func)
        assert called in definitions or not called.startswith("trimtab.") or called.count(".") > 1, called
        if called in definitions:
            names, count = taken(definitions[called])
            assert {each.arg for each in call.keywords} <= names, called
            assert len(call.args) <= count, called


@for_each(("page", "block"), of("bash"), called=where)
def test_a_script_for_the_shell_has_no_errors_of_syntax(page, block):
    done = subprocess.run(["bash", "-n"], input=block.text, text=True, capture_output=True)
    assert (done.returncode, done.stderr) == (0, "")


@for_each(("page", "block"), of("toml"), called=where)
def test_a_block_of_toml_is_toml(page, block):
    assert tomllib.loads(block.text)


OVERRIDES = [
    (page, word.partition("=")[0])
    for page, call in CALLS
    if call[0] in ("train", "fit", "find")
    for word in call[1:]
    if re.fullmatch(r"[a-z_]+(\.\w+)+=.*", word)
]


@for_each(("page", "key"), OVERRIDES, called=lambda each: f"{each[0].stem}: {each[1]}")
def test_a_key_that_a_command_sets_is_one_of_a_recipe(page, key):
    assert re.sub(r"\.\d+", "", key) in KNOWN


def test_every_block_is_of_a_kind_that_is_tested_here():
    kinds = {block.language for _, block in BLOCKS}
    assert kinds <= {"", "console", "bash", "python", "yaml", "toml", "json"}, kinds
    assert len(of("yaml")) > 40
    assert len(of("python")) > 30
    assert len(OVERRIDES) > 5


def test_the_loop_of_the_tour_runs(capsys):
    (block,) = [block for page, block in of("python") if page.name == "own_loop.md"]
    exec(compile(block.text, "own_loop.md", "exec"), {})
    assert float(capsys.readouterr().out) > 0
