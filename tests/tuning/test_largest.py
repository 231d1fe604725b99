import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pretrained_folder import pretrained_folder
from tests.pretrained_run import pretrained_recipe
from tests.small_run import small_recipe
from trimtab.config.load import load_recipe
from trimtab.errors import InputError
from trimtab.progress import Silent
from trimtab.tuning.largest import as_text, largest_micro_batch, largest_rank, sizes_of_step

LIMIT = 10**9


def probe_that_fits_to(most, tried):
    """Memory in proportion to the size; beyond a limit it runs out."""

    def probe(changes):
        value = changes[0].split("=")[1]
        tried.append(int(value))
        fits = int(value) <= most
        return {
            "gpu": "CPU",
            "measured": {"process": LIMIT * int(value) // most} if fits else {},
            "out_of_memory": "" if fits else "CUDA out of memory",
            "limit": LIMIT,
            "seconds_per_step": 0.5,
            "tokens": 100,
        }

    return probe


@pytest.fixture(scope="module")
def recipe(tmp_path_factory):
    return load_recipe(small_recipe(tmp_path_factory.mktemp("largest"))).recipe


@given(st.integers(20, 400))
def test_the_largest_part_of_a_step_that_fits_is_found_with_few_probes(recipe, most):
    tried = []
    found = largest_micro_batch(recipe, "small", probe_that_fits_to(most, tried), progress=Silent())
    sizes = sizes_of_step(256, least=32)
    fitting = [size for size in sizes if size <= most]
    assert found.fits == bool(fitting)
    assert len(tried) == len(set(tried)) <= 2 + len(sizes).bit_length()
    if fitting:
        assert found.value == max(fitting)
        assert -(-256 // -(-256 // found.value)) <= found.value  # the parts are equal


def test_sizes_cut_a_step_evenly_and_never_change_it():
    assert sizes_of_step(256, least=32) == [256, 128, 86, 64, 52, 43, 37, 32]
    assert sizes_of_step(7, least=100) == [7]


def test_ranks_fall_from_512(tmp_path):
    tried = []
    pretrained_folder(tmp_path / "base")
    recipe = load_recipe(pretrained_recipe(tmp_path, adapter={"rank": 4, "alpha": 8})).recipe
    found = largest_rank(recipe, "lora", probe_that_fits_to(100, tried), progress=Silent())
    assert (found.value, found.fits, tried[0]) == (64, True, 512)
    assert "adapter.rank=64" in as_text(found)
    found = largest_rank(recipe, "lora", probe_that_fits_to(1, []), progress=Silent())
    assert found.value == 1
    found = largest_rank(recipe, "lora", probe_that_fits_to(0.5, []), progress=Silent())
    assert not found.fits
    assert "Not even adapter.rank=1 fits" in as_text(found)


def test_a_peak_above_the_limit_does_not_fit_though_it_ran(recipe):
    def probe(changes):
        return {"gpu": "CPU", "measured": {"process": 2 * LIMIT}, "out_of_memory": "", "limit": LIMIT}

    assert not largest_micro_batch(recipe, "small", probe, progress=Silent()).fits


def test_what_has_no_such_size_is_refused(recipe, tmp_path):
    with pytest.raises(InputError, match="no rank to find"):
        largest_rank(recipe, "small", probe_that_fits_to(1, []), progress=Silent())
    path = small_recipe(tmp_path, **{"step.gradients": "released", "step.tokens_per_micro_batch": 256})
    with pytest.raises(InputError, match="is one micro-batch"):
        largest_micro_batch(load_recipe(path).recipe, "small", probe_that_fits_to(1, []), progress=Silent())
