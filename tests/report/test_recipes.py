from tests.report.folder_of_a_run import RECIPE, write_run
from trimtab.report.recipes import differences, flattened
from trimtab.report.run_data import open_run


def test_only_the_keys_that_differ_are_listed(tmp_path):
    other = RECIPE.replace("0.002", "0.001").replace("clip: {kind: global_norm, at: 1.0}", "")
    runs = [open_run(write_run(tmp_path / name, recipe=text)) for name, text in (("a", RECIPE), ("b", other))]
    assert {each.key: each.values for each in differences(runs)} == {
        "step.optimizer.learning_rate": ("0.002", "0.001"),
        "step.clip.kind": ("global_norm", "–"),
        "step.clip.at": ("1", "–"),
    }


def test_lists_of_plain_values_stay_together():
    tree = {"a": [1, 0.5, True, None], "b": [{"c": "d"}], "e": {}}
    assert dict(flattened(tree)) == {"a": "[1, 0.5, true, ]", "b.0.c": "d", "e": "{}"}
