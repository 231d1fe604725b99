from tests.checks.written import run_of
from tests.for_each import for_each
from trimtab.checks.keytable import Key, KeyTable
from trimtab.checks.lifetime import lifetime, undecided

OLD = Key(name="old", library="transformers", renamed_to="new", renamed_in="4.41.0", removed_in="5.0.0")
NEW = Key(name="new", library="transformers", since="4.41.0")


@for_each(
    ("key", "version", "stage"),
    [
        (OLD, (4, 40), "lives"),
        (OLD, (4, 41), "renamed"),
        (OLD, (4, 41, 0), "renamed"),
        (OLD, (4, 57, 3), "renamed"),
        (OLD, (5, 0, 0), "removed"),
        (OLD, (5, 24, 0), "removed"),
        (NEW, (4, 40, 9), "not yet"),
        (NEW, (4, 41), "lives"),
        (Key(name="ever"), (1,), "lives"),
    ],
)
def test_what_became_of_a_key_is_told_for_the_version_that_counts(key, version, stage):
    told = lifetime(run_of(versions={"transformers": version}), key)
    assert (told.stage, told.is_certain) == (stage, True)


def test_without_a_version_the_newest_is_told_and_nothing_is_certain():
    assert lifetime(run_of(), OLD).stage == "removed"
    assert lifetime(run_of(), NEW).stage == "lives"
    assert not lifetime(run_of(), OLD).is_certain


def test_the_version_is_that_of_the_keys_own_library():
    run = run_of(tool="trl", versions={"trl": (1, 16)})
    assert not lifetime(run, OLD).is_certain
    assert lifetime(run, Key(name="x", removed_in="1.0")).stage == "removed"


def test_a_library_is_undecided_where_a_key_that_may_be_gone_is_written_and_nobody_knows_its_version():
    table = KeyTable(tool="transformers", version="5", source="", keys={"old": OLD, "new": NEW})
    assert undecided([run_of(keys={"old": 1}, table=table)]) == {"transformers"}
    assert undecided([run_of(keys={"new": 1, "x": 2}, table=table), run_of(keys={"old": 1})]) == set()
    assert undecided([run_of(keys={"old": 1}, table=table, versions={"transformers": (4, 0)})]) == set()
