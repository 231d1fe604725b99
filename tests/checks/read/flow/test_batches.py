"""What a batch is made of, by a collation or a data set of the script."""

from tests.checks.read.flow.following import flow
from trimtab.checks.read.flow.batches import filling_of, part_of_batch

DATA = (
    "import torch\nfrom torch.utils.data import DataLoader, Dataset\nfrom torch.nn.utils.rnn import pad_sequence\n"
    "class Rows(Dataset):\n    def __getitem__(self, i):\n        ids = self.rows[i]\n"
    "        return ids[:-1], ids[1:]\n"
    "def collate(rows):\n    return {'x': pad_sequence(rows), 'y': pad_sequence(rows, padding_value=-100)}\n"
)


def given(loader, loop):
    """The arguments of `show` in a loop over a loader."""
    (event,) = flow(f"{DATA}for {loop} in DataLoader({loader}):\n    show(a, b)\n").named("show")
    return event.value.args


def test_parts_of_a_batch_are_what_the_data_set_gives():
    one, other = (part_of_batch(each) for each in given("Rows()", "a, b"))
    assert one.of is other.of
    assert (one.args[0].fields["<bounds>"].constant, other.args[0].fields["<bounds>"].constant) == (
        (None, -1),
        (1, None),
    )


def test_parts_of_a_batch_are_what_the_collation_gives():
    (event,) = flow(
        f"{DATA}for batch in DataLoader(rows, collate_fn=collate):\n    show(batch['x'], batch['y'])\n"
    ).named("show")
    assert [filling_of(each).constant for each in event.value.args] == [0, -100]


def test_nothing_is_known_of_a_batch_of_another_data_set():
    one, _ = given("rows", "a, b")
    assert part_of_batch(one) is one


def test_what_happens_in_a_collation_is_no_event_of_the_loop():
    made = flow(f"{DATA}for batch in DataLoader(rows, collate_fn=collate):\n    show(batch)\n")
    assert all(event.path[0].kind == "function" for event in made.named("pad_sequence"))
