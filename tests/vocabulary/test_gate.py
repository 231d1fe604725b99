"""A right change passes, and each of the usual mistakes is found: the six of `experiments/vocabulary_trimming.py`, and
four more of tokenizers and settings."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.vocabulary.folders import gpt2, lines, marian
from trimtab.errors import InputError, RunFailed
from trimtab.vocabulary.folder_model import FolderModel
from trimtab.vocabulary.gate import GateReport, _better, check_changed, evenly, require_passed
from trimtab.vocabulary.selection import select
from trimtab.vocabulary.vocabulary import Text

WEIGHTS = "model.safetensors"


class Trimmed:
    """A model, a right trim of it, and what the gate needs to compare them."""

    def __init__(self, old, folder):
        self.old, self.folder = FolderModel.open(old), folder
        vocabulary = self.old.vocabularies["shared"]
        readers = range(vocabulary.readers) if vocabulary.readers > 1 else (0, 0)
        self.texts = [Text(str(side), lines(side)[:40], reader) for side, reader in enumerate(readers)]
        self.change = select(vocabulary, self.texts, size=None, least=1, special=self.old.special("shared"))
        folder.mkdir()
        self.kept = [*self.change.origins]
        made = {"shared": vocabulary.trimmed(self.kept)}
        self.old.write(folder, made, {"shared": self.change}, init="mean")

    def report(self, folder):
        """What the gate finds in a folder."""
        new = self.old.reopened(folder)
        return check_changed(self.old, new, {"shared": self.change}, {"shared": self.texts})


@pytest.fixture(scope="module")
def translator(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gate")
    return Trimmed(marian(folder / "marian"), folder / "trimmed")


@pytest.fixture(scope="module")
def language_model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gate")
    return Trimmed(gpt2(folder / "gpt2"), folder / "trimmed")


def edit(folder, name, change):
    """Changes a JSON file."""
    told = json.loads((folder / name).read_text())
    (folder / name).write_text(json.dumps(change(told) or told))


def edit_weights(folder, change):
    """Changes tensors."""
    tensors = load_file(folder / WEIGHTS)
    change(tensors)
    save_file(
        {name: each.contiguous() for name, each in tensors.items()},
        folder / WEIGHTS,
        metadata={"format": "pt"},
    )


def bias_not_remapped(trimmed, folder):
    old = load_file(trimmed.old.folder / WEIGHTS)["final_logits_bias"]
    edit_weights(folder, lambda new: new.update(final_logits_bias=old[:, : len(trimmed.kept)].clone()))


def decoder_start_not_remapped(trimmed, folder):
    # The old id is no row of the smaller model, and one that is another piece's is as wrong.
    edit(folder, "config.json", lambda told: told.update(decoder_start_token_id=3))


def tie_broken(trimmed, folder):
    edit(folder, "config.json", lambda told: told.update(tie_word_embeddings=False))
    edit_weights(
        folder,
        lambda new: new.update(
            {
                f"{place}.weight": new["model.shared.weight"].clone()
                for place in ("lm_head", "model.encoder.embed_tokens", "model.decoder.embed_tokens")
            }
        ),
    )


def map_off_by_one(trimmed, folder):
    def shift(tensors):
        tensors["model.shared.weight"] = torch.cat(
            [tensors["model.shared.weight"][:1], tensors["model.shared.weight"][:-1]]
        )

    edit_weights(folder, shift)


def special_ids_moved(trimmed, folder):
    edit(folder, "vocab.json", lambda told: told.update({"</s>": 1, "<unk>": 0}))


def tokenizer_keeps_a_dropped_piece(trimmed, folder):
    model = trimmed.old.vocabularies["shared"].models[1].model
    (folder / "target.spm").write_bytes(model)


def forced_id_not_remapped(trimmed, folder):
    name = "generation_config.json"
    old = json.loads((trimmed.old.folder / name).read_text())["decoder_start_token_id"]
    edit(folder, name, lambda told: told.update(decoder_start_token_id=old))


MISTAKES = {
    bias_not_remapped: "logits:",
    decoder_start_not_remapped: "symbols: config.json: decoder_start_token_id",
    tie_broken: "tie:",
    map_off_by_one: "logits:",
    special_ids_moved: "pieces: 2 have another id",
    tokenizer_keeps_a_dropped_piece: "pieces: the tokenizer makes",
    forced_id_not_remapped: "symbols: generation_config.json: decoder_start_token_id",
}


@pytest.mark.slow
def test_a_right_trim_passes(translator, language_model):
    for trimmed in (translator, language_model):
        report = trimmed.report(trimmed.folder)
        assert report.faults == ()
        assert report.worst <= 1e-6
        assert report.positions > 200
        assert report.same_split == report.lines == 80


@pytest.mark.quick(
    "map_off_by_one", "bias_not_remapped", "tie_broken", "decoder_start_not_remapped", "special_ids_moved"
)
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda each: each.__name__)
def test_each_usual_mistake_is_found(translator, tmp_path, mistake):
    folder = tmp_path / "wrong"
    shutil.copytree(translator.folder, folder)
    mistake(translator, folder)
    report = translator.report(folder)
    assert any(each.startswith(MISTAKES[mistake]) for each in report.faults), report.faults
    with pytest.raises(RunFailed, match="nothing was written"):
        require_passed(report)


def test_a_piece_without_a_row_is_found_when_the_folder_is_opened(translator, tmp_path):
    folder = tmp_path / "wrong"
    shutil.copytree(translator.folder, folder)
    edit(folder, "vocab.json", lambda told: told.update({"dropped": len(told)}))
    with pytest.raises(InputError, match="more pieces than the model has rows"):
        translator.report(folder)


def test_cut_merges_are_found(language_model, tmp_path):
    folder = tmp_path / "wrong"
    shutil.copytree(language_model.folder, folder)
    edit(folder, "tokenizer.json", lambda told: told["model"].update(merges=told["model"]["merges"][5:]))
    assert any(each.startswith("tokens:") for each in language_model.report(folder).faults)


def test_a_row_that_is_no_number_is_found(language_model, tmp_path):
    folder = tmp_path / "wrong"
    shutil.copytree(language_model.folder, folder)
    edit_weights(folder, lambda new: new["transformer.wte.weight"].__setitem__((7, 0), float("nan")))
    assert any(each.startswith("logits:") for each in language_model.report(folder).faults)


def test_a_report_without_faults_is_let_through():
    require_passed(GateReport(lines=1, same_split=1, positions=1, worst=0.0))


def test_lines_are_taken_from_all_over():
    assert evenly([*range(10)], 3) == [0, 4, 8]
    assert evenly([1, 2], 5) == [1, 2]


def test_a_text_comes_back_better_where_a_word_was_unknown_and_worse_where_it_lost_letters():
    # All letters of the word that was unknown stand in others, and the tokenizer writes small letters.
    assert _better("the [UNK] tea", "the heat tea", "The heat tea")
    assert not _better("the heat tea", "the [UNK] tea", "The heat tea")
    assert not _better("the heat", "the heat", "The heat")
    assert not _better("the heat", "the hea t", "The heat")
