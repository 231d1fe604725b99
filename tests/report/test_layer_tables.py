import pytest

from tests.report.folder_of_a_run import write_run
from trimtab.report.layer_tables import layer_tables
from trimtab.report.run_data import open_run


def test_layers_and_tensors_have_bars_and_what_is_out_of_range_is_marked(tmp_path):
    found = layer_tables(open_run(write_run(tmp_path / "my")))
    assert (found.depth_step, found.ratios_step) == (300, 300)
    assert [(each.name, each.share) for each in found.depth] == [("encoder.blocks.0", 0.5), ("last", 1.0)]
    assert [(each.name, each.is_odd) for each in found.ratios] == [("embedding.weight", False), ("odd", True)]


def test_each_probe_of_the_newest_look_has_a_table(tmp_path):
    health = [
        {"step": 100, "context_use": {"loss_with_other_source": 0.1}, "unseen_tokens": {"source": 0.5}},
        {
            "step": 200,
            "context_use": {"loss_with_other_source": 0.7},
            "attention_by_token": {"source: </s>": 0.9},
        },
    ]
    found = layer_tables(open_run(write_run(tmp_path / "my", health=health)))
    steps = {each.title: (each.step, [(bar.name, bar.value) for bar in each.rows]) for each in found.others}
    assert steps == {
        "Tokens with most attention": (200, [("source: </s>", 0.9)]),
        "Use of context": (200, [("loss_with_other_source", 0.7)]),
        "Unseen tokens": (100, [("source", 0.5)]),
    }


@pytest.mark.parametrize(
    "line", [{"step": 1}, {"rms_by_depth": [1]}, {"update_ratios": {"a": "nan", "b": None, "c": True}}]
)
def test_a_run_that_was_not_looked_into_has_none(tmp_path, line):
    assert layer_tables(open_run(write_run(tmp_path / "my", health=[line]))) is None


def test_a_look_under_an_earlier_name_has_its_table(tmp_path):
    (table,) = layer_tables(
        open_run(write_run(tmp_path / "my", health=[{"step": 3, "untouched_rows": {"source": 0.25}}]))
    ).others
    assert (table.title, table.step, [each.value for each in table.rows]) == ("Unseen tokens", 3, [0.25])
