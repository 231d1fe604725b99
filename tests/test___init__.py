import ast
import subprocess
import sys
from pathlib import Path

import pytest

import trimtab
from tests.for_each import for_each
from trimtab.checkpoint.state_file import parse_state
from trimtab.launch import RunResult


@for_each("name", trimtab.HOMES)
def test_a_public_name_is_a_function_of_the_module_that_is_said_to_be_its_home(name):
    function = getattr(trimtab, name)
    assert callable(function)
    assert (function.__module__, function.__name__) == (trimtab.HOMES[name], name)
    assert function.__doc__


def test_type_checkers_are_told_of_the_same_names():
    told = {
        alias.name: node.module
        for node in ast.walk(ast.parse(Path(trimtab.__file__).read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module.startswith("trimtab")
        for alias in node.names
    }
    assert told == trimtab.HOMES
    assert set(trimtab.__all__) == {*told, "__version__"}


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'trian'"):
        trimtab.trian  # noqa: B018


@pytest.mark.slow
def test_importing_trimtab_and_reading_a_recipe_load_nothing_heavy():
    code = "import sys, trimtab; print(*sys.modules); trimtab.load_recipe; print(*sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    imported, reading = (set(line.split()) for line in shown.splitlines())
    assert {name for name in imported if name.startswith("trimtab")} == {"trimtab"}
    assert "trimtab.config.load" in reading
    assert {"torch", "numpy", "sentencepiece", "sacrebleu", "safetensors"}.isdisjoint(reading)


def test_what_calls_give_is_shown_in_one_short_line(trained_run, tmp_path):
    recipe = trained_run.parent / "recipe.yaml"
    loaded = trimtab.load_recipe(recipe)
    state = read_state(trained_run / "checkpoints" / "step-00000060" / "state.json")
    (tmp_path / "config.yaml").write_text(
        "src_vocab_size: 8000\ntrain_steps: 100\noptim: adam\nlearning_rate: 1\n"
    )
    shown = {
        repr(RunResult(trained_run, state, [])): "step 60, chrf",
        repr(loaded): "translation, 1 corpora, length 60 steps",
        repr(trimtab.check(recipe)): "1 files, 0 findings",
        repr(trimtab.convert(tmp_path / "config.yaml", kind="opennmt")): "settings unmatched",
        repr(trimtab.inspect_recipe(loaded)): "200 of 200 pairs kept",
        repr(trimtab.load_model(trained_run)): "parameters, cpu",
        repr(trimtab.load_translator(str(trained_run))): "beam 4, cpu",
        repr(trimtab.read_metrics(trained_run)): "60 rows",
    }
    assert [
        text for text, words in shown.items() if words not in text or "\n" in text or len(text) > 400
    ] == []


def read_state(path):
    return parse_state(path.read_bytes())
