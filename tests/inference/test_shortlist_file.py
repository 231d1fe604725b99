import numpy as np
import pytest
import torch

from trimtab.checkpoint.tensor_file import file_content, read_tensors
from trimtab.data.tokenizers import load_tokenizers
from trimtab.decode.shortlist import Shortlist
from trimtab.errors import InputError
from trimtab.inference.shortlist_file import read_shortlist, write_shortlist
from trimtab.types import Ragged


@pytest.fixture(scope="module")
def tokenizers(trained_run):
    return load_tokenizers(trained_run / "tokenizer")


@pytest.fixture
def file(tokenizers, tmp_path):
    """A shortlist in a file."""
    num_ids = tokenizers.target.num_ids
    rows = [[id, (id + 1) % num_ids] for id in range(num_ids)]
    shortlist = Shortlist(
        always=np.array([3, 9]), of_source=Ragged.of(rows), num_ids=num_ids, copies=tokenizers.shared
    )
    write_shortlist(tmp_path / "s.shortlist", shortlist, tokenizers=tokenizers)
    return tmp_path / "s.shortlist"


def rewritten(file, **changes):
    tensors = {name: changes.get(name, tensor) for name, tensor in read_tensors(file).items()}
    file.write_bytes(b"".join(file_content({name: x for name, x in tensors.items() if x is not None})))


def test_what_was_written_is_read(file, tokenizers):
    found = read_shortlist(file, tokenizers=tokenizers)
    assert found.ids(np.array([20])).tolist() == [3, 9, 20, 21]
    assert (found.copies, found.num_ids) == (True, tokenizers.target.num_ids)


def test_a_file_is_never_overwritten_and_nothing_is_left_of_one_that_fails(file, tokenizers, tmp_path):
    found = read_shortlist(file, tokenizers=tokenizers)
    with pytest.raises(InputError, match="already exists"):
        write_shortlist(file, found, tokenizers=tokenizers)
    with pytest.raises(InputError, match="cannot be written"):
        write_shortlist(tmp_path / "gone" / "s", found, tokenizers=tokenizers)
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        (
            {"tokenizer_sha256": torch.frombuffer(bytearray(b"0" * 64), dtype=torch.uint8)},
            "another tokenizer",
        ),
        ({"always": None}, "no always in it"),
        ({"layout": torch.tensor([2])}, "another version"),
        ({"targets": torch.tensor([99, 0], dtype=torch.int32)}, "do not fit"),
        ({"offsets": torch.tensor([0, 1])}, "do not fit"),
        ({"always": torch.tensor([-1])}, "do not fit"),
    ],
)
def test_a_file_of_something_else_is_refused(file, tokenizers, changes, match):
    rewritten(file, **changes)
    with pytest.raises(InputError, match=match):
        read_shortlist(file, tokenizers=tokenizers)


def test_a_file_that_is_no_shortlist_is_refused(file, tokenizers, tmp_path):
    file.write_bytes(b"lexicon")
    with pytest.raises(InputError, match="not a shortlist"):
        read_shortlist(file, tokenizers=tokenizers)
    with pytest.raises(InputError, match=r"gone\.short"):
        read_shortlist(tmp_path / "gone.short", tokenizers=tokenizers)
