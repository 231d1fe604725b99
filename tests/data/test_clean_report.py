from trimtab.data.clean_report import CleanedCorpus, CleanReport, render_clean
from trimtab.data.inspection_report import Example, Reason


def corpus(name="a", kept=2, **more):
    reasons = {"duplicate": Reason(1, (Example(7, "one", "eins"),)), "copy": Reason(0, ())}
    return CleanedCorpus(name, 3, kept, reasons, more)


def test_every_filter_is_shown_with_its_share_and_examples():
    assert render_clean(CleanReport((corpus(),), None)) == (
        "a: 3 pairs, 2 kept (66.67%)\n"
        "  dropped, duplicate: 1 (33.33%)\n"
        "    line 7: one  |  eins\n"
        "  dropped, copy: 0 (0.00%)"
    )


def test_sums_what_to_train_on_and_problems_follow():
    first, second = corpus(source="out/a b.en", target="out/a.de"), corpus("b", 0, text="out/b")
    shown = render_clean(CleanReport((first, second), "out"))
    assert "together: 6 pairs, 2 kept (33.33%)" in shown
    assert '      - {source: "out/a b.en", target: out/a.de}\n      - {text: out/b}' in shown
    assert shown.endswith("problems\n  b: nothing is kept: every pair is dropped")


def test_it_is_said_where_there_are_no_filters():
    nothing = CleanedCorpus("a", 1, 1, {"empty_source": Reason(0, ())}, {})
    assert render_clean(CleanReport((nothing,), None)).startswith("a: 1 pair, 1 kept (100.00%)")
    assert "no filters in `data.transforms`" in render_clean(CleanReport((nothing,), None))
    assert "no filters" not in render_clean(CleanReport((nothing, corpus()), None))
