from tests.checks.written import run_of
from trimtab.checks.step_size import billions, devices, tokens_per_step


def test_tokens_of_a_step_are_counted_where_batches_are_in_tokens():
    run = run_of(concepts={"micro_batch": 4096, "batch_unit": "tokens", "accumulation": 4, "devices": 2})
    assert tokens_per_step(run) == 4096 * 4 * 2


def test_packed_examples_have_a_known_length():
    known = {"micro_batch": 2, "batch_unit": "examples", "sequence_length": 512}
    assert tokens_per_step(run_of(concepts={**known, "packing": True})) == 1024
    assert tokens_per_step(run_of(concepts=known)) is None
    assert tokens_per_step(run_of(concepts={"batch_unit": "tokens"})) is None


def test_absurd_numbers_are_unknown():
    assert tokens_per_step(run_of(concepts={"micro_batch": 10**20, "batch_unit": "tokens"})) is None
    assert (
        billions(run_of(concepts={"layers": 10**9, "hidden_size": 10**9, "encoder_decoder": False})) is None
    )


def test_the_size_of_a_decoder_follows_from_its_shape():
    shape = {"layers": 24, "hidden_size": 2048, "encoder_decoder": False}
    assert billions(run_of(concepts=shape)) == 12 * 24 * 2048**2 / 1e9
    assert billions(run_of(concepts={**shape, "parameters_billion": 1.3})) == 1.3
    assert billions(run_of(concepts={"layers": 24, "hidden_size": 2048})) is None


def test_devices_are_unknown_unless_there_is_at_least_one():
    assert devices(run_of(concepts={"devices": 4})) == 4
    assert devices(run_of(concepts={"devices": 0})) is None
    assert devices(run_of()) is None
