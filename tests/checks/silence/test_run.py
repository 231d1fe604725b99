from trimtab.checks.place import Place
from trimtab.checks.read.yaml import read_yaml
from trimtab.checks.rules.s104_warmup_longer_than_run import RULE, check
from trimtab.checks.selection import Chosen
from trimtab.checks.silence.run import Silences

CHOSEN = Chosen(frozenset({"S104"}), ((RULE, check),))


def found(path, line):
    return RULE.at(Place(str(path), line), warmup="2", steps="1")


def codes(diagnoses):
    return [each.finding.code for each in diagnoses]


def test_silences_of_a_file_are_used_idle_wrong_or_strange():
    text = (
        "a: 1  # trimtab: allow S104 because it is a test\n"
        "b: 1  # trimtab: allow S104 because it was one\n"
        "c: 1  # trimtab: allow S104\n"
        "d: 1  # trimtab: allow nothing because of this\n"
        "e: 1  # trimtab: be quiet\n"
    )
    silences = Silences(CHOSEN, ())
    told = silences.apply(read_yaml("a.yaml", text), [found("a.yaml", line) for line in (1, 3)])
    assert sorted(codes(told)) == ["C190", "C191", "C192", "C193", "S104"]
    assert silences.num_silenced == 1


def test_a_silence_of_a_rule_that_did_not_run_is_not_idle():
    document = read_yaml("a.yaml", "a: 1  # trimtab: allow S104 because it is a test\n")
    assert Silences(Chosen(frozenset()), ()).apply(document, []) == []


def test_an_entry_of_the_project_is_idle_only_where_no_file_used_it(tmp_path):
    (tmp_path / "pyproject.toml").write_text(
        '[tool.trimtab.check]\nallow = [{rule = "S104", because = "x"}, {rule = "S104"}, '
        '{rule = "nothing", because = "y"}]\n'
    )
    one, other = (read_yaml(str(tmp_path / name), "a: 1\n") for name in ("a.yaml", "b.yaml"))
    silences = Silences(CHOSEN, (tmp_path,))
    assert silences.apply(one, []) == []
    assert silences.apply(other, [found(other.path, 1)]) == []
    assert codes(silences.idle_in_projects()) == ["C190", "C192"]
    idle = Silences(CHOSEN, (tmp_path,))
    idle.apply(one, [])
    assert codes(idle.idle_in_projects()) == ["C191", "C190", "C192"]


def test_what_silences_are_held_to_cannot_be_silenced():
    document = read_yaml(
        "a.yaml", "a: 1  # trimtab: allow C190 because I want to\nb: 1  # trimtab: allow S104\n"
    )
    assert sorted(codes(Silences(CHOSEN, ()).apply(document, []))) == ["C190"]
