from tests.checks.say.reports import EDIT, SKIPPED, UNREADABLE, finding, report
from tests.for_each import for_each
from trimtab.checks.document import Document
from trimtab.checks.place import Place
from trimtab.checks.report import Report, Skipped
from trimtab.checks.rules.s104_warmup_longer_than_run import RULE
from trimtab.checks.say.text import WIDTH, as_text, summary


def test_a_finding_says_where_what_why_on_what_evidence_and_what_to_do():
    assert as_text(report(finding("a.yaml"))) == (
        "a.yaml:3:1 S104 warmup-longer-than-run error: warm-up is 1,000 steps, but the run ends after 500\n"
        "    |\n"
        "  3 | warmup_steps: 1000  # ü\n"
        "    | ^^^^^^^^^^^^\n"
        "  why       The learning rate is still rising when training stops: it never reaches the value that is\n"
        "            configured, and the decay never happens.\n"
        "  evidence  arithmetic: A linear warm-up of w steps gives the rate peak * t / w at step t; at the end n < w"
        " it\n"
        "            is n / w.\n"
        "  fix       set the warm-up well below 500 steps; 1% to 10% of the run is usual\n"
        "  more      trimtab explain S104\n"
        "\n"
        "1 error in 1 file\n"
    )


def test_the_reason_is_told_once_and_what_to_do_each_time():
    text = as_text(report(finding("a.yaml"), finding("b.yaml")))
    assert (text.count("  why "), text.count("  evidence "), text.count("  fix ")) == (1, 1, 2)


def test_one_line_a_finding_is_all_that_is_told_in_brief():
    text = as_text(report(finding("a.yaml"), finding("b.yaml")), brief=True)
    assert [line.partition(" ")[0] for line in text.splitlines()] == ["a.yaml:3:1", "b.yaml:3:1"]
    assert as_text(report(), brief=True) == ""


def test_what_an_option_would_mend_is_said():
    assert "(--fix --changes-training)" in as_text(report(finding("a.yaml", edits=(EDIT,))))
    assert "--fix" not in as_text(report(finding("a.yaml")))


def test_colours_come_only_where_they_are_asked_for():
    assert "\x1b" not in as_text(report(finding("a.yaml")))
    assert "\x1b[31;1merror\x1b[0m" in as_text(report(finding("a.yaml")), in_colour=True)


def test_of_a_long_line_the_part_around_the_finding_is_shown():
    place = Place("a.yaml", 1, 301, 1, 313)
    whole = Report(
        diagnoses=(RULE.at(place, warmup="1", steps="1"),),
        files=("a.yaml",),
        documents={"a.yaml": report(finding("a.yaml")).documents["a.yaml"]},
    )
    assert "|" not in as_text(whole)  # a finding without a key has no line to show


def test_no_line_but_the_first_is_wider_than_a_page():
    lines = as_text(report(finding("a.yaml"), finding("b.yaml", line=99))).splitlines()
    assert max(map(len, lines)) <= WIDTH


def test_the_summary_counts_what_was_found_and_what_was_left_out():
    assert summary(report()) == "no findings in 1 file"
    whole = report(
        finding("a.yaml"),
        finding("b.yaml", severity="note"),
        silenced=2,
        known=3,
        skipped=(SKIPPED,),
        problems=(UNREADABLE,),
    )
    assert summary(whole) == (
        "1 error, 1 note in 2 files; 2 suppressed; 3 known from the baseline; 1 not looked at; 1 not checked"
    )


@for_each("strange", ["\x1b", "\x0c", "\x85", "\u2028", "\u202e", "\u200b", "\t"])
def test_the_line_of_a_finding_is_shown_by_the_readers_lines_without_what_rewrites_a_terminal(strange):
    text = f"# {strange}\nx = 1\nwarmup_steps = 1000 # {strange}\n"
    document = Document(path="a.py", syntax="python", text=text)
    whole = Report(diagnoses=(finding("a.py"),), files=("a.py",), documents={"a.py": document})
    told = as_text(whole)
    assert strange not in told
    assert "  3 | warmup_steps = 1000 # " in told


def test_what_is_not_looked_at_is_one_line_each():
    told = as_text(report(skipped=(Skipped("n\n::error::z.yml", "\x1b[2Jno"),)))
    assert "n\\n::error::z.yml: \\x1b[2Jno\n" in told


def test_a_version_that_would_decide_something_and_is_not_known_is_said():
    assert summary(report(unknown_versions=("peft", "trl"))) == (
        "no findings in 1 file; version of peft, trl not known, --with peft=... --with trl=... says it"
    )
