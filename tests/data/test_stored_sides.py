import pytest

from tests.module_folder import LANGUAGES, module_folder
from trimtab.config.tokenizer import PretrainedTokenizer
from trimtab.data.stored_sides import adopt_sides
from trimtab.data.stored_tokenizer import load_stored
from trimtab.errors import InputError


def test_a_run_keeps_the_files_and_notices_other_ones(tmp_path):
    config = PretrainedTokenizer(path=str(module_folder(tmp_path / "base", "nllb")), **LANGUAGES["nllb"])
    sides = {"source": tmp_path / "source", "target": tmp_path / "target"}
    made = adopt_sides(config, sides, tmp_path / "files", task="translation")
    assert [load_stored(folder).fingerprint for folder in sides.values()] == [
        each.fingerprint for each in made
    ]
    card = tmp_path / "source" / "tokenizer.json"
    card.write_text(card.read_text().replace("eng_Latn", "deu_Latn"))
    with pytest.raises(InputError, match="not the tokenizer that was stored here"):
        load_stored(tmp_path / "source")
