from tests.checks.written import run_of
from trimtab.checks.keytable import Key, KeyTable
from trimtab.checks.rules.c109_key_without_reader import check

KEYS = {
    "dropout": Key(name="dropout", unread="nothing does."),
    "encoder_type": Key(name="encoder_type", removed_in="0.2.1"),
    "optim": Key(name="optim"),
}
TABLE = KeyTable(tool="mammoth", version="0.2.1", source="its source", keys=KEYS)


def found(keys, versions=None):
    run = run_of(tool="mammoth", keys=dict.fromkeys(keys, 1), table=TABLE, versions=versions or {})
    return [each.key for each in check(run)]


def test_a_key_that_nothing_reads_is_told():
    assert found(["dropout", "optim"]) == ["dropout"]


def test_a_file_of_an_older_version_may_have_had_readers():
    assert found(["dropout", "encoder_type"]) == []
    assert found(["dropout", "encoder_type"], {"mammoth": (0, 2, 1)}) == ["dropout"]
