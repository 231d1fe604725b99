import pytest

from tests.export.runs import trained
from tests.pretrained_folder import pretrained_folder
from tests.small_run import write_pairs
from trimtab.config.corpora import ParallelFiles
from trimtab.config.tokenizer import PretrainedTokenizer
from trimtab.data.pretrained_tokenizer import read_pretrained
from trimtab.errors import InputError
from trimtab.export.samples import between_symbols, gate_lines, origins
from trimtab.inference import load_model

pytestmark = pytest.mark.usefixtures("all_samples")


@pytest.fixture
def model(trained_run):
    return load_model(str(trained_run), device="cpu")


def given(folder, pairs):
    write_pairs(folder, "own", pairs)
    return ParallelFiles(source=str(folder / "own.en"), target=str(folder / "own.de"))


def test_validation_sets_come_first_and_corpora_fill_up(model, trained_run):
    dev = (trained_run.parent / "dev.en").read_text().splitlines()
    train = (trained_run.parent / "train.en").read_text().splitlines()
    found = [line.source for line in gate_lines(model)]
    assert found[: len(dev)] == dev
    assert set(found[len(dev) :]) <= set(train)
    assert len(found) == 200
    assert [line.source for line in gate_lines(model)] == found, "always the same"
    assert len(gate_lines(model, count=10)) == 10


@pytest.mark.slow
def test_lines_are_spread_over_a_text(model, tmp_path):
    pairs = [(f"the ship {'the ' * (number // 100)}", "das") for number in range(1000)]
    lengths = {len(line.source_ids) for line in gate_lines(model, given(tmp_path, pairs), count=50)}
    assert len(lengths) == 10


def test_what_a_library_reads_otherwise_or_the_model_cannot_read_is_left_out(model, tmp_path):
    odd = [(">>de<< the ship", "das"), ("the </s> ship", "das"), ("the " * 40, "das"), ("the", "das " * 40)]
    kept = [(">> the ship", "das schiff"), ("the << ship", "das schiff")]
    found = gate_lines(model, given(tmp_path, [*odd, *kept]))
    assert [line.source for line in found] == [source for source, _ in kept]
    with pytest.raises(InputError, match="no pair of lines to compare the export on"):
        gate_lines(model, given(tmp_path, odd))


def test_of_a_chat_the_longest_part_without_a_symbol_is_compared(tmp_path):
    """Libraries take `<|im_end|>` in a text for the symbol; here it is text."""
    pretrained_folder(tmp_path / "base")
    own = read_pretrained(
        PretrainedTokenizer(kind="pretrained", path=str(tmp_path / "base")), key="data.tokenizer"
    )
    end = own.piece(own.end)
    assert between_symbols(f"a{end}the answer is long{end}b", own) == "the answer is long"
    assert between_symbols("no symbol", own) == "no symbol"


@pytest.mark.slow
def test_text_that_is_gone_is_named_with_what_to_do(tmp_path):
    run = trained(tmp_path)
    for path in tmp_path.glob("*.??"):
        path.unlink()
    with pytest.raises(InputError) as caught:
        gate_lines(load_model(str(run), device="cpu"))
    assert "dev.en" in str(caught.value)
    assert "--source FILE --reference FILE" in caught.value.problems[-1].fix
    found = gate_lines(load_model(str(run), device="cpu"), given(tmp_path, [("the ship", "das schiff")]))
    assert [line.source for line in found] == ["the ship"]


def test_it_is_told_how_many_lines_came_from_where(model, tmp_path):
    lines = gate_lines(model)
    told = origins(lines)
    assert told.endswith(f"of training corpus {lines[-1].origin.split()[-1]}")
    assert sum(int(part.split()[0]) for part in told.split(", ")) == 200
    own = origins(gate_lines(model, given(tmp_path, [("the ship", "das schiff")])))
    assert own == f"1 of given text {tmp_path.name}/own"
