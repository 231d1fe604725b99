from pathlib import Path

from trimtab.checks import kinds
from trimtab.checks.kinds.registry import MODULES, all_kinds, kinds_of


def test_every_module_with_a_kind_is_in_the_table():
    folder = Path(kinds.__path__[0])
    with_kind = {path.stem for path in folder.glob("*.py") if "\nKIND = " in path.read_text(encoding="utf-8")}
    assert with_kind == set(MODULES)


def test_names_are_unique_and_sorted_by_module():
    names = [kind.name for kind in all_kinds()]
    assert len(set(names)) == len(names)
    assert list(MODULES) == sorted(MODULES)


def test_a_syntax_has_its_kinds():
    assert "axolotl" in {kind.name for kind in kinds_of("yaml")}
    assert {kind.name for kind in kinds_of("shell")} & {"axolotl", "peft-adapter"} == set()
    assert all("python" in kind.syntaxes for kind in kinds_of("python"))


def test_the_table_has_the_syntaxes_of_the_kinds():
    for kind, syntaxes in zip(all_kinds(), MODULES.values(), strict=True):
        assert kind.syntaxes == set(syntaxes), kind.name
