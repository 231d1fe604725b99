import sys

import pytest

from tests.children import run_in_child
from tests.language_run import language_sources
from tests.small_run import small_sources
from trimtab.config.task_record import TASKS
from trimtab.errors import InputError
from trimtab.tasks.language_model.task import LANGUAGE_MODEL
from trimtab.tasks.task_of import task_of
from trimtab.tasks.translation.task import TRANSLATION


@pytest.mark.parametrize(
    ("sources_of", "task"), [(small_sources, TRANSLATION), (language_sources, LANGUAGE_MODEL)]
)
def test_each_recipe_has_the_task_that_it_names(tmp_path, sources_of, task):
    recipe, _ = sources_of(tmp_path)
    assert task_of(recipe) is task
    assert task.name == recipe.task


def test_every_task_of_the_settings_has_one(tmp_path):
    recipe, _ = small_sources(tmp_path)
    for name in TASKS:
        assert task_of(recipe.model_copy(update={"task": name})).name == name


class Missing:
    """A finder for an interpreter that has no package for images."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("PIL", "scipy"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def test_tasks_on_text_need_no_package_for_images():
    """The README's demo is installed without the extra `vision`."""

    def import_again() -> None:
        for name in [*sys.modules]:
            if name.partition(".")[0] in ("trimtab", "PIL", "scipy"):
                del sys.modules[name]
        sys.meta_path.insert(0, Missing())
        import trimtab.demo.run
        import trimtab.launch  # noqa: F401

        assert "trimtab.tasks.language_model.task" in sys.modules

    assert run_in_child(import_again) == 0


@pytest.mark.parametrize("task", ["recognition", "detection", "diffusion", "image_classification"])
def test_a_task_on_images_says_which_extra_it_needs(monkeypatch, tmp_path, task):
    recipe, _ = small_sources(tmp_path)
    monkeypatch.setattr("trimtab.tasks.task_of.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"Pillow[\s\S]*trimtab\[vision\]"):
        task_of(recipe.model_copy(update={"task": task}))
