from tests.lab.laboratory import with_result, written
from trimtab.lab.page import PAGE, PLOTS, lab_pages

SAME, BETTER = (50.0, 51.0, 49.5, 50.2, 50.8), (52.1, 52.9, 51.6, 52.4, 52.7)


def test_the_page_has_a_line_and_a_section_for_each_that_was_run(tmp_path):
    with_result(written(tmp_path, "first"), plain=SAME, other=BETTER, again=SAME)
    with_result(written(tmp_path, "second"), plain=SAME, other=SAME)
    written(tmp_path, "third", expect="same")
    pages = lab_pages(tmp_path)
    page = pages[PAGE]
    assert set(pages) == {PAGE, f"{PLOTS}/first.svg", f"{PLOTS}/second.svg"}
    assert "| [first](#first) | The other arm is better. | other against plain: +2.0" in page
    assert "Not run yet: third." in page
    assert page.count("## ") == 2
    assert "Two runs that differ in their first weights alone are apart by 0 " in page


def test_an_experiment_with_a_script_shows_its_claims(tmp_path):
    import json

    loaded = written(tmp_path, "asks", 'question: "Is it?"\nclaim: It is.\nscript: ask.py\n')
    verdict = {"as predicted": False, "claims": [{"holds": False, "text": "1 < 0"}]}
    loaded.result.write_text(json.dumps({"experiment": "asks", "verdict": verdict, "hardware": "CPU"}))
    page = lab_pages(tmp_path)[PAGE]
    assert "| [asks](#asks) | It is. | not as predicted |" in page
    assert "- **no**: 1 &lt; 0" in page


def test_text_of_others_cannot_break_out_of_the_page(tmp_path):
    loaded = written(tmp_path, "odd")
    path = loaded.folder / "experiment.yaml"
    path.write_text(path.read_text().replace("The other arm is better.", '"a | <script>x</script> & b"'))
    with_result(written(tmp_path, "odd", path.read_text()), plain=SAME, other=BETTER)
    pages = lab_pages(tmp_path)
    assert "<script>" not in "".join(pages.values())
    assert "a \\| &lt;script&gt;" in pages[PAGE]
