from trimtab.config.corpora import TrainCorpus, ValidFiles
from trimtab.config.optimizers import Adafactor
from trimtab.config.places import child, keys_of, kind_of, known_keys, place_of

TREE = {
    "data": {"train": [{"source": "a"}], "valid": {"dev": {"source": "a", "target": "b"}}},
    "step": {"optimizer": {"kind": "adafactor"}},
    "model": {},
}


def test_known_keys_are_dotted_paths_through_lists_names_and_kinds():
    keys = known_keys()
    for key in [
        "seed", "data.train.0.weight", "data.valid.source", "data.transforms.0.min_characters", "model.layers",
        "step.optimizer.learning_rate", "step.optimizer.clip_update", "step.schedule.floor", "evaluate.best.metric",
    ]:  # fmt: skip
        assert key in keys
    assert len(keys) == len(set(keys))


def test_a_place_knows_its_bounds_and_its_meaning():
    place = place_of("data.train.0.weight", TREE)
    assert place is not None
    assert place.choices == (float,)
    assert {type(bound).__name__ for bound in place.bounds} == {"Gt", "Le"}
    assert place_of("length", TREE).meaning == "How long to train."


def test_the_kind_decides_which_keys_there_are():
    assert place_of("step.optimizer.clip_update", TREE) is not None
    assert place_of("step.optimizer.betas", TREE) is None
    assert place_of("step.optimizer.betas", {"step": {"optimizer": {}}}) is not None, "adamw is the default"


def test_sets_by_name_and_a_single_set_are_told_apart():
    assert place_of("data.valid.dev", TREE).models == (ValidFiles,)
    assert place_of("data.valid.dev.target", TREE) is not None
    single = {"data": {"valid": {"source": "a", "target": "b"}}}
    assert place_of("data.valid.target", single).choices == (str, int)


def test_there_is_no_place_below_a_plain_value():
    assert place_of("seed.x", {"seed": 1}) is None
    assert place_of("nothing", TREE) is None


def test_a_child_is_looked_up_by_key_or_index():
    assert child({"a": 1}, "a") == 1
    assert child([1, 2], "1") == 2
    assert child([1, 2], "2") is None
    assert child([1, 2], "x") is None
    assert child(3, "a") is None


def test_groups_know_their_kind_and_their_keys():
    assert kind_of(Adafactor) == "adafactor"
    assert kind_of(TrainCorpus) == ""
    assert "clip_update" in keys_of(Adafactor)
