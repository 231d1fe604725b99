import pytest

from tests.checks.rules.findings import findings
from tests.checks.written import run_of
from tests.for_each import for_each
from trimtab.checks.edits import RemoveKey, RenameKey
from trimtab.checks.keytable import Key, KeyTable
from trimtab.checks.rules import c107_key_renamed, c108_key_removed, c116_key_too_new

KEYS = {
    "old": Key(name="old", library="transformers", renamed_to="new", renamed_in="4.41.0", removed_in="5.0.0"),
    "new": Key(name="new", library="transformers", since="4.41.0"),
    "gone": Key(name="gone", library="transformers", removed_in="5.0.0"),
    "hard": Key(name="hard", library="transformers", removed_in="5.0.0", advice="write `other: x`"),
}


def found(module, keys, version):
    table = KeyTable(tool="trl", version="1", source="s", keys=KEYS)
    versions = {} if version is None else {"transformers": version}
    return list(module.check(run_of(tool="trl", keys=keys, table=table, versions=versions)))


def test_an_old_name_warns_between_its_two_dates():
    (one,) = found(c107_key_renamed, {"old": 1}, (4, 50))
    assert one.finding.severity == "warning"
    assert one.edits == (RenameKey("old", "new"),)
    assert found(c107_key_renamed, {"old": 1}, (4, 40)) == []
    assert found(c107_key_renamed, {"old": 1}, (5, 1)) == []
    assert found(c107_key_renamed, {"old": 1, "new": 1}, (4, 50)) == []


@pytest.mark.parametrize(
    ("key", "edits"), [("old", (RenameKey("old", "new"),)), ("gone", (RemoveKey("gone"),)), ("hard", ())]
)
def test_a_key_that_is_gone_is_an_error_with_its_mend(key, edits):
    (one,) = found(c108_key_removed, {key: 1}, (5, 24))
    assert one.finding.severity == "error"
    assert one.edits == edits
    assert found(c108_key_removed, {key: 1}, (4, 57)) == []


def test_a_key_of_tomorrow_is_an_error():
    assert len(found(c116_key_too_new, {"new": 1}, (4, 40))) == 1
    assert found(c116_key_too_new, {"new": 1}, (4, 41)) == []


@pytest.mark.parametrize("module", [c107_key_renamed, c108_key_removed, c116_key_too_new])
def test_without_a_version_nothing_is_said(module):
    assert found(module, {"old": 1, "new": 1, "gone": 1}, None) == []


@pytest.mark.parametrize(("module", "version"), [(c108_key_removed, (5, 24)), (c116_key_too_new, (4, 1))])
def test_what_another_version_saved_and_this_one_drops_does_no_harm_where_it_says_nothing(module, version):
    name = "gone" if module is c108_key_removed else "new"
    table = KeyTable(tool="trl", version="1", source="s", keys=KEYS, unknown_keys="dropped")

    def count(value):
        run = run_of(tool="trl", keys={name: value}, table=table, versions={"transformers": version})
        return len(list(module.check(run)))

    assert [count(value) for value in (None, {}, False)] == [0, 0, 0]
    assert count(True) == 1
    assert len(found(module, {name: None}, version)) == 1  # refused, whatever it says


def own(module, keys):
    """Of a table whose keys are the tool's own, with no version known."""
    table = KeyTable(tool="transformers", version="1", source="s", keys=KEYS)
    return list(module.check(run_of(tool="transformers", keys=keys, table=table, versions={})))


def test_without_a_version_the_newest_counts_for_the_tools_own_keys_and_nothing_is_mended_by_itself():
    (one,) = own(c108_key_removed, {"gone": 1})
    assert one.finding.severity == "warning"
    assert "not known" in one.finding.message
    assert one.edits == ()
    assert found(c108_key_removed, {"gone": 1}, None) == []


def test_without_a_version_an_old_name_says_what_it_hangs_on():
    renamed = {"late": Key(name="late", library="transformers", renamed_to="new", renamed_in="4.41.0")}
    table = KeyTable(tool="transformers", version="1", source="s", keys={**KEYS, **renamed})
    (one,) = c107_key_renamed.check(run_of(tool="transformers", keys={"late": 1}, table=table, versions={}))
    assert "not known" in one.finding.fix
    assert (one.edits, one.finding.severity) == ((), "note")


@for_each(
    ("call", "version", "told"),
    [
        ("SFTTrainer(model, packing=True)", "trl=0.13", True),
        ("SFTTrainer(model, max_seq_length=512)", "trl=1.16", True),
        ("SFTTrainer(model, dataset_text_field='text')", "trl=0.15", True),
        ("DPOTrainer(model, beta=0.1)", "trl=0.13", True),
        ("DPOTrainer(model, loss_type='ipo', label_smoothing=0.1)", "trl=0.20", True),
        ("SFTTrainer(model, packing=True)", "trl=0.12", False),
        ("DPOTrainer(model, beta=0.1)", "trl=0.12", False),
        ("SFTTrainer(model, args=SFTConfig(packing=True))", "trl=1.16", False),
        ("DPOTrainer(model, args=DPOConfig(beta=0.1))", "trl=1.16", False),
    ],
)
def test_keywords_of_trainers_moved_to_their_configurations(call, version, told):
    text = (
        f"from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer\ntrainer = {call}\ntrainer.train()\n"
    )
    assert bool(findings(c108_key_removed, "train.py", text, versions=version)) is told


def test_a_key_that_a_tool_leaves_to_its_library_later_is_not_removed_before():
    text = (
        "from trl import GRPOConfig\n"
        "args = GRPOConfig(output_dir='out', per_device_train_batch_size=8, gradient_accumulation_steps=2)\n"
    )
    for versions in ("trl=0.14.0 transformers=4.47.1", "trl=0.20.0 transformers=4.55.0"):
        assert findings(c108_key_removed, "train.py", text, versions=versions) == []
