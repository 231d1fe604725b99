import json
import shutil

import pytest

from tests.vocabulary.folders import FAMILIES, lines, write_text
from trimtab.errors import InputError
from trimtab.vocabulary.folder_model import FolderModel
from trimtab.vocabulary.surgery import extend_vocabulary, trim_vocabulary

QUICK = ("marian", "llama", "bert")
ALL = [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in FAMILIES]


@pytest.mark.quick("marian")
@pytest.mark.parametrize("family", ALL)
def test_every_family_is_trimmed_and_extended_and_transformers_opens_it(family, tmp_path):
    from transformers import AutoTokenizer

    folder = FAMILIES[family](tmp_path / family)
    texts = [write_text(tmp_path / f"text.{side}", lines(side)[:40]) for side in (0, 1)]
    trimmed = trim_vocabulary(folder, keep_text=texts, out=tmp_path / "trimmed")
    assert trimmed.sides["shared"].dropped > 0
    assert trimmed.gate.same_split == trimmed.gate.lines == 80
    assert trimmed.after.parameters < trimmed.before.parameters
    more = [write_text(tmp_path / f"more.{side}", lines(side)[:200]) for side in (0, 1)]
    extended = extend_vocabulary(tmp_path / "trimmed", text=more, add=40, out=tmp_path / "extended")
    assert extended.sides["shared"].added > 20
    assert all(each.after < each.before for each in extended.corpora)
    rows = json.loads((tmp_path / "extended" / "config.json").read_text())["vocab_size"]
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "extended")
    assert max(tokenizer(lines(0)[0]).input_ids) < rows == extended.sides["shared"].after


def test_another_architecture_is_refused(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "whisper", "vocab_size": 9}))
    with pytest.raises(InputError, match="this architecture cannot be changed"):
        FolderModel.open(tmp_path)


def test_a_tensor_that_does_not_fit_the_settings_is_refused(tmp_path):
    folder = FAMILIES["llama"](tmp_path / "llama")
    shutil.copytree(folder, tmp_path / "wrong")
    settings = json.loads((folder / "config.json").read_text())
    (tmp_path / "wrong" / "config.json").write_text(json.dumps(settings | {"vocab_size": 32}))
    with pytest.raises(InputError, match="its weights do not fit `vocab_size`"):
        FolderModel.open(tmp_path / "wrong")
