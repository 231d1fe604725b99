from tests.checks.kinds.describing import values
from tests.checks.kinds.nmt.commands import run
from tests.for_each import for_each
from trimtab.checks.keys.table import load_table
from trimtab.checks.kinds.nmt.fairseq_architectures import ARCHITECTURES, with_architecture


@for_each("name", sorted(ARCHITECTURES))
def test_every_architecture_is_a_name_of_fairseq_and_sets_options_that_it_has(name):
    table = load_table("fairseq")
    assert name in table.keys["arch"].choices or name.endswith("_align")
    assert set(ARCHITECTURES[name]) <= set(table.keys)
    assert (
        with_architecture(table, name).keys["encoder-layers"].default == ARCHITECTURES[name]["encoder-layers"]
    )


def test_an_architecture_that_is_not_known_has_no_sizes():
    told_run = run("fairseq-train bin --arch fconv --lr 0.25 --clip-norm 0.1\n")
    assert values(told_run, "hidden_size", "dropout", "clip") == (None, None, 0.1)
