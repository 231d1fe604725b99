import json

import pytest

from tests.vocabulary.folders import lines, m2m100, marian
from trimtab.vocabulary.folder_files import read_vocabulary
from trimtab.vocabulary.vocabulary import Text


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    folder = marian(tmp_path_factory.mktemp("marian") / "model")
    rows = json.loads((folder / "config.json").read_text())["vocab_size"]
    return read_vocabulary(folder, rows=rows)


def test_symbols_and_language_codes_stay_and_each_side_is_split_as_before(pair):
    used = {id for side in (0, 1) for row in pair.encode(lines(side)[:40], reader=side) for id in row}
    kept = sorted(pair.with_ancestors(used | pair.protected))
    new, ids = pair.trimmed(kept), {id: number for number, id in enumerate(kept)}
    assert {">>deu<<", "<pad>", "</s>", "<unk>"} <= new.table.keys()
    assert new.table["<pad>"] == len(kept) - 1
    for side in (0, 1):
        before, after = (each.encode(lines(side)[:40], reader=side) for each in (pair, new))
        assert after == [[ids[id] for id in row] for row in before]
        assert new.decode(after, reader=side) == pair.decode(before, reader=side)


def test_new_pieces_are_those_of_the_side_that_their_text_is_in(pair):
    texts = [Text("en", lines(0)[:200], 0), Text("de", lines(1)[:200], 1)]
    new, change = pair.extended(texts, 60)
    added = {new.piece(id) for id in change.added}
    assert 40 < len(added) <= 60
    assert not added & pair.table.keys()
    assert added & new.models[0].ids.keys()
    assert added & new.models[1].ids.keys()
    assert new.num_ids == len(change.origins)


def test_language_codes_that_no_file_names_come_behind_new_pieces(tmp_path):
    folder = m2m100(tmp_path / "model")
    rows = json.loads((folder / "config.json").read_text())["vocab_size"]
    old = read_vocabulary(folder, rows=rows)
    new, change = old.extended([Text("de", lines(1)[:200])], 30)
    assert old.behind == new.behind == 108
    assert change.added == [*range(len(old.table), len(old.table) + 30)]
    assert change.new_ids[rows - 1] == new.num_ids - 1
    assert new.piece(new.num_ids - 1) == old.piece(rows - 1)
