from pathlib import Path

import pytest

from tests.lab.laboratory import with_result, written
from trimtab.lab import page as page_module
from trimtab.lab.page import BEGIN, END, PAGE, PLOTS, lab_pages, readme_with_rows

ROOT = Path(__file__).parents[2]

SAME, BETTER = (50.0, 51.0, 49.5, 50.2, 50.8), (52.1, 52.9, 51.6, 52.4, 52.7)


def test_the_page_has_a_line_and_a_section_for_each_that_was_run(tmp_path):
    with_result(written(tmp_path, "first"), plain=SAME, other=BETTER, again=SAME)
    with_result(written(tmp_path, "second"), plain=SAME, other=SAME)
    written(tmp_path, "third", expect="same")
    pages = lab_pages(tmp_path)
    page = pages[PAGE]
    assert set(pages) == {PAGE, f"{PLOTS}/first.svg", f"{PLOTS}/second.svg"}
    line = next(line for line in page.splitlines() if line.startswith("| [The other arm is better.](#first)"))
    assert "| chrf: other against plain: +2.0" in line
    assert line.endswith("| `tiny`, CPU | 5 | 10 | **confirmed** | `trimtab lab run first` |")
    assert "Not run yet: third." in page
    assert page.count("## ") == 2
    assert "Two runs that differ in their first weights alone are apart by 0 " in page


def test_an_experiment_with_a_script_shows_its_claims(tmp_path):
    import json

    loaded = written(tmp_path, "asks", 'question: "Is it?"\nclaim: It is.\nscript: ask.py\n')
    verdict = {"as predicted": False, "claims": [{"holds": False, "text": "1 < 0"}]}
    loaded.result.write_text(json.dumps({"experiment": "asks", "verdict": verdict, "hardware": "CPU"}))
    page = lab_pages(tmp_path)[PAGE]
    assert (
        "| [It is.](#asks) |  | – | CPU | 0 | under 1 | **not as predicted** | `trimtab lab run asks` |"
        in page
    )
    assert "- **no**: 1 &lt; 0" in page


def test_text_of_others_cannot_break_out_of_the_page(tmp_path):
    loaded = written(tmp_path, "odd")
    path = loaded.folder / "experiment.yaml"
    path.write_text(path.read_text().replace("The other arm is better.", '"a | <script>x</script> & b"'))
    with_result(written(tmp_path, "odd", path.read_text()), plain=SAME, other=BETTER)
    pages = lab_pages(tmp_path)
    assert "<script>" not in "".join(pages.values())
    assert "a \\| &lt;script&gt;" in pages[PAGE]


def test_the_readme_has_a_line_for_each_experiment_shown_that_was_run(tmp_path, monkeypatch):
    with_result(written(tmp_path, "first"), plain=SAME, other=BETTER)
    written(tmp_path, "second")
    monkeypatch.setattr(page_module, "SHOWN", ("second", "first"))
    made = readme_with_rows(f"Before.\n{BEGIN}\nold\n{END}\nAfter.\n", tmp_path)
    assert made.startswith(f"Before.\n{BEGIN}\n| claim |")
    assert made.endswith(f"{END}\nAfter.\n")
    assert "old" not in made
    assert (
        made.count("| [The other arm is better.](docs/lab.md#first) | chrf: other against plain: +2.0") == 1
    )
    assert readme_with_rows(made, tmp_path) == made
    with pytest.raises(ValueError, match="no lines"):
        readme_with_rows("no marks", tmp_path)


def test_the_stored_page_and_the_readme_say_what_the_results_say():
    pages = lab_pages(ROOT / "experiments")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    pages["README.md"] = readme_with_rows(readme, ROOT / "experiments")
    stale = [name for name, text in pages.items() if (ROOT / name).read_text(encoding="utf-8") != text]
    assert stale == [], "run python tools/write_pages.py"
