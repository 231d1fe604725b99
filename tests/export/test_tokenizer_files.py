import os

from tests.export.text_models import vocabulary
from trimtab.data.tokenizers import Tokenizers
from trimtab.export.tokenizer_files import SOURCE, TARGET, tokenizer_files, write_models


def test_one_file_where_both_sides_share_a_tokenizer_unless_the_library_wants_both(tmp_path):
    one = vocabulary("bytes")
    shared, apart = Tokenizers(one, one), Tokenizers(one, vocabulary("bpe"))
    assert list(tokenizer_files(shared)) == [SOURCE]
    assert list(tokenizer_files(apart)) == [SOURCE, TARGET]
    write_models(shared, tmp_path)
    assert os.listdir(tmp_path) == [SOURCE]
    write_models(shared, tmp_path, both=True)
    assert (tmp_path / TARGET).read_bytes() == (tmp_path / SOURCE).read_bytes() == one.model
    write_models(apart, tmp_path)
    assert (tmp_path / TARGET).read_bytes() == vocabulary("bpe").model
