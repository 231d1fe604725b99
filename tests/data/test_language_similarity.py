"""Which languages are alike by their texts."""

from pathlib import Path

from trimtab.data.language_similarity import grouped, profile, similarity
from trimtab.data.lines import Lines, open_lines


def lines(folder: Path, text: str) -> Lines:
    path = folder / f"{abs(hash(text))}.txt"
    path.write_text(text, encoding="utf-8")
    return open_lines(path, cache=folder / "cache")


def test_a_text_is_most_like_itself(tmp_path: Path) -> None:
    one, other = (profile([lines(tmp_path, text)]) for text in ("the cat sat\n", "el gato negro\n"))
    assert abs(similarity(one, one) - 1) < 1e-9
    assert similarity(one, other) == similarity(other, one) < 0.7
    assert similarity(one, profile([lines(tmp_path, "")])) == 0


def test_names_in_ascii_do_not_make_scripts_alike(tmp_path: Path) -> None:
    english = profile([lines(tmp_path, "apt-get installs the package\n")])
    japanese = profile([lines(tmp_path, "apt-get はパッケージをインストールします\n")])
    assert similarity(english, japanese) == 0
    assert "は" in japanese


def test_groups_keep_the_order_and_lose_no_language() -> None:
    profiles = {"a": {"x": 1.0}, "b": {"y": 1.0}, "c": {"x": 0.8, "y": 0.6}, "d": {"z": 1.0}}
    assert grouped(profiles, 3) == [("a", "c"), ("b",), ("d",)]
    assert grouped(profiles, 1) == [("a", "b", "c", "d")]
    assert grouped(profiles, 9) == [("a",), ("b",), ("c",), ("d",)]
