"""The reference aligner of the benchmarks, on a language whose words are translated one by one."""

import sys

import pytest

from tests.benchmarks.open_benchmark import open_benchmark
from tests.small_run import small_pairs


def test_words_are_linked_to_their_translations(monkeypatch):
    script = open_benchmark("diagonal_aligner", monkeypatch)
    pairs = small_pairs(120)
    right = wrong = 0
    for links in script.align_both(*zip(*pairs, strict=True)):
        right += sum(i == j for i, j in links)
        wrong += sum(i != j for i, j in links)
    assert right > 20 * wrong


def test_links_go_to_a_file(monkeypatch, tmp_path):
    script = open_benchmark("diagonal_aligner", monkeypatch)
    for name, lines in (("a", "the ship\n\nthe boat\n"), ("b", "das schiff\n\ndas boot\n")):
        (tmp_path / name).write_text(lines, encoding="utf-8")
    files = {"--source": tmp_path / "a", "--target": tmp_path / "b", "--out": tmp_path / "links"}
    monkeypatch.setattr(sys, "argv", ["x", *(str(each) for pair in files.items() for each in pair)])
    script.main()
    assert (tmp_path / "links").read_text().splitlines() == ["0-0 1-1", "", "0-0 1-1"]


@pytest.mark.parametrize("name", ["terminology", "word_alignments", "diagonal_aligner"])
def test_scripts_tell_their_options(name, monkeypatch, capsys):
    script = open_benchmark(name, monkeypatch)
    monkeypatch.setattr(sys, "argv", [f"{name}.py", "--help"])
    with pytest.raises(SystemExit) as ended:
        script.main()
    assert ended.value.code == 0
    assert "--out" in capsys.readouterr().out


def test_a_glossary_is_made_of_words_that_are_linked_often(monkeypatch):
    script = open_benchmark("terminology", monkeypatch)
    text = script.glossary_of(*zip(*small_pairs(200), strict=True), least=3, share=0.5)
    assert "rudder\truder\n" in text
    assert "red" not in text.split()  # too short
