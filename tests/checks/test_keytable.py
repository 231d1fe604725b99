from trimtab.checks.keytable import Key, KeyTable

TABLE = KeyTable(
    tool="opennmt",
    version="3.5",
    source="its options",
    keys={name: Key(name=name) for name in ("train_steps", "data.*.path_src", "data")},
)


def test_a_key_is_found_by_its_own_name_or_by_a_name_of_the_users_choice():
    assert TABLE.key("train_steps").name == "train_steps"
    assert TABLE.key("data.europarl.path_src").name == "data.*.path_src"


def test_what_is_not_in_the_table_is_none():
    assert TABLE.key("train_step") is None
    assert TABLE.key("data.europarl.path_trg") is None
    assert TABLE.key("data.europarl.more.path_src") is None
