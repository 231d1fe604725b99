import os
import re

import pytest

from tests.language_run import PAIRS, language_sources
from tests.small_run import small_sources
from trimtab.config.corpora import TrainCorpus
from trimtab.data.corpus import open_corpus
from trimtab.errors import InputError
from trimtab.progress import Silent
from trimtab.tasks.task_of import task_of
from trimtab.tasks.text.inspecting import check_all_lines


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


def test_every_unreadable_line_is_named_where_a_sample_would_show_some_of_them(tmp_path):
    lines = [f"a {number}\tb {number}\n".encode() for number in range(3000)]
    broken = {5: b"one\ttwo\tthree\n", 1001: b"\xfc\tx\n", 1502: b"one\n", 2999: b"x\t\xff\n"}
    for place, line in broken.items():
        lines[place] = line
    (tmp_path / "p.tsv").write_bytes(b"".join(lines))
    config = TrainCorpus(pairs="p.tsv", source=1, target=2)
    corpus = open_corpus(config, root=tmp_path, cache=tmp_path / "cache")
    with pytest.raises(InputError) as caught:
        check_all_lines(corpus)
    found = [int(re.findall(r"line (\d+)", problem.what)[0]) - 1 for problem in caught.value.problems]
    assert found == [*broken]
    assert all(problem.fix for problem in caught.value.problems)


@pytest.mark.parametrize("line", ['{"en": "x", "dd": "y"}', '{"en": {"de": "y"}}'])
def test_a_field_that_other_lines_have_is_no_misspelled_name(tmp_path, line):
    (tmp_path / "p.jsonl").write_text('{"en": "a", "de": "b"}\n' + line + "\n")
    config = TrainCorpus(pairs="p.jsonl", source="en", target="de")
    corpus = open_corpus(config, root=tmp_path, cache=tmp_path / "cache")
    with pytest.raises(InputError) as caught:
        check_all_lines(corpus)
    assert all("did you mean" not in problem.fix for problem in caught.value.problems)
