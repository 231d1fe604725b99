import os

import pytest

from tests.language_run import PAIRS, language_sources
from tests.small_run import small_sources
from trimtab.progress import Silent
from trimtab.tasks.task_of import task_of


@pytest.mark.parametrize(
    ("sources_of", "changes", "one_row"), [(small_sources, {}, False), (language_sources, PAIRS, True)]
)
def test_a_task_reports_on_its_pairs_as_it_reads_them_and_leaves_no_files(
    tmp_path, sources_of, changes, one_row
):
    recipe, _ = sources_of(tmp_path, **changes)
    before = sorted(os.listdir(tmp_path))
    report = task_of(recipe).inspect(recipe, limit=50, progress=Silent())
    assert report.one_row is one_row
    assert report.max_tokens == recipe.data.max_tokens
    assert len(report.train) == 1
    assert sorted(os.listdir(tmp_path)) == before
