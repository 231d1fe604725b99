import pytest

from tests.short_run import SHORT
from tests.small_run import small_recipe
from trimtab.errors import InputError, RunFailed
from trimtab.launch import train
from trimtab.training import prepare

pytestmark = pytest.mark.usefixtures("checks_of_data_only")


@pytest.mark.parametrize(
    "error",
    [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried 99 bytes\nmore")],
)
def test_a_model_that_does_not_fit_into_memory_is_told_with_its_sizes(tmp_path, monkeypatch, error):
    def build(*_, **__):
        raise error

    monkeypatch.setattr(prepare, "build", build)
    with pytest.raises(
        RunFailed, match=r"the model does not fit into memory: .*\n.*dim 32, .*\n.*preset: small"
    ) as told:
        train(small_recipe(tmp_path, **SHORT), out=tmp_path / "run")
    assert "more\n" not in str(told.value)


@pytest.mark.slow
def test_a_damaged_tokenizer_is_named(recipe, tmp_path):
    run = train(recipe, out=tmp_path / "run").run
    model = run / "tokenizer" / "sentencepiece.model"
    model.write_bytes(model.read_bytes()[:-100])
    with pytest.raises(InputError, match=r"sentencepiece\.model"):
        train(recipe, out=run, resume=True)
