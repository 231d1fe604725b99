import sys
from importlib import import_module
from types import SimpleNamespace

import pytest
import torch

from tests.model.test_attention import operators_of_a_step
from tests.model.test_attention_varlen import check_empty_segments, check_errors
from trimtab.model import attention
from trimtab.model.attention import attend
from trimtab.model.attention_flash4 import SIZES, attend_flash4, flash4_runs_on
from trimtab.model.sequence_layout import SequenceLayout

CUDA = torch.device("cuda")


@pytest.fixture
def hopper(monkeypatch):
    """A machine with a GPU that the package is for."""
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: (9, 0))
    flash4_runs_on.cache_clear()
    yield monkeypatch
    flash4_runs_on.cache_clear()


def test_it_does_not_run_on_a_cpu_nor_without_the_package_nor_on_an_older_gpu(hopper):
    assert not flash4_runs_on(torch.device("cpu"))
    hopper.setattr("trimtab.model.attention_flash4.find_spec", lambda _: None)
    assert not flash4_runs_on(CUDA)
    hopper.setattr("trimtab.model.attention_flash4.find_spec", lambda _: object())
    kernels = SimpleNamespace(_flash_attn_fwd=None, _flash_attn_bwd=None)
    hopper.setattr("trimtab.model.attention_flash4.import_module", lambda _: kernels)
    hopper.setattr(torch.cuda, "get_device_capability", lambda _: (8, 0))
    flash4_runs_on.cache_clear()
    assert not flash4_runs_on(CUDA)
    hopper.setattr(torch.cuda, "get_device_capability", lambda _: (9, 0))
    flash4_runs_on.cache_clear()
    assert flash4_runs_on(CUDA)


def broken(name):
    raise OSError("libcuda.so.1: cannot open shared object file\nmore")


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (broken, "OSError: libcuda.so.1: cannot open"),
        (lambda _: SimpleNamespace(flash_attn_func=None), "AttributeError: .*_flash_attn_fwd"),
    ],
)
def test_a_package_that_is_broken_or_of_another_version_is_told_of_and_not_used(hopper, found, told):
    hopper.setattr("trimtab.model.attention_flash4.find_spec", lambda _: object())
    hopper.setattr("trimtab.model.attention_flash4.import_module", found)
    with pytest.warns(UserWarning, match=f"slower kernel, since .* {told}"):
        assert not flash4_runs_on(CUDA)


@pytest.mark.parametrize(
    ("package", "interface", "told"),
    [
        ("", "import a_package_that_is_not_installed", "ModuleNotFoundError: No module named 'a_package"),
        ("import a_package_that_is_not_installed", "", "ModuleNotFoundError: No module named 'a_package"),
        ("__spec__ = None", "", "ValueError: flash_attn.__spec__"),
    ],
    ids=["the kernels", "the package", "no package"],
)
def test_a_package_that_is_installed_without_what_it_needs_is_as_none(
    hopper, tmp_path, package, interface, told
):
    (tmp_path / "flash_attn" / "cute").mkdir(parents=True)
    for name, source in {"__init__": package, "cute/__init__": "", "cute/interface": interface}.items():
        (tmp_path / "flash_attn" / f"{name}.py").write_text(source)
    for name in [name for name in sys.modules if name.partition(".")[0] == "flash_attn"]:
        hopper.delitem(sys.modules, name)
    hopper.syspath_prepend(tmp_path)
    try:
        if "__spec__" in package:
            import_module("flash_attn")
        with pytest.warns(UserWarning, match=f"slower kernel, since flash-attn-4 cannot be imported: {told}"):
            assert not flash4_runs_on(CUDA)
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "flash_attn"]:
            del sys.modules[name]


@pytest.mark.parametrize(("size", "taken"), [(64, "flash4"), (128, "flash4"), (96, "varlen")])
def test_it_is_taken_where_it_runs_for_the_sizes_of_heads_that_were_measured(monkeypatch, size, taken):
    given = {}

    def kernel(name):
        def attend(queries, keys, values, **_):
            given[name] = keys.shape[1]
            return queries

        return attend

    for name in ("flash4", "varlen"):
        monkeypatch.setattr(attention, f"attend_{name}", kernel(name))
    layout = SequenceLayout(torch.tensor([0, 8], dtype=torch.int32), 8, None, None, flash4=True)
    queries, keys = torch.zeros(8, 4, size), torch.zeros(8, 2, size)
    attend(queries, keys, keys, of=layout, to=layout, causal=True)
    # It knows groups of heads; for the other they are repeated.
    assert given == {taken: 2 if taken == "flash4" else 4}


@pytest.mark.slow
def test_a_compiled_step_holds_the_operator_and_no_break():
    """Also where the package is not there."""
    assert "trimtab.attend_flash4" in operators_of_a_step("flash4", "attention_flash4")


@pytest.fixture
def flash4():
    """Left out where attention does not take the package, for whatever reason."""
    if not flash4_runs_on(CUDA):
        pytest.skip("needs a CUDA device and flash-attn-4")


@pytest.mark.gpu
@pytest.mark.usefixtures("flash4")
class TestOnGpu:
    @pytest.mark.parametrize("size", SIZES)
    @pytest.mark.parametrize("max_seqlen", [64, 700])
    @pytest.mark.parametrize("causal", [False, True])
    def test_it_errs_no_more_than_padded_rows_in_the_same_precision(self, causal, max_seqlen, size):
        check_errors(attend_flash4, causal=causal, max_seqlen=max_seqlen, size=size)

    def test_empty_segments_and_a_filled_tail_give_finite_gradients_and_change_nothing(self):
        check_empty_segments(attend_flash4)
