import shutil

import pytest
import torch

from tests.small_run import small_pairs
from trimtab.decode.stream import stream_of
from trimtab.errors import InputError
from trimtab.export.hf.marian_engine import open_hugging_face
from trimtab.inference import load_model
from trimtab.types import Ragged

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def both(trained_run, exported_run):
    return load_model(f"{trained_run}@last", device="cpu"), open_hugging_face(exported_run, device=CPU)


def rows_of(model, count):
    return model.tokenizer.encode([source for source, _ in small_pairs(count, seed=5)])


@torch.inference_mode()
def test_a_session_gives_the_logits_of_the_trainers_model_through_reorder_and_keep(both):
    ours, theirs = both
    rows = rows_of(ours, 5)
    source = stream_of(rows, CPU)
    options = {"rows": 5, "width": 3, "max_length": 12}
    sessions = [
        ours.model.open_session(source, **options),
        theirs.open_session(source, **options),
    ]
    tokens = torch.full((5, 3), ours.tokenizer.start)
    draw = torch.Generator().manual_seed(1)
    for step in range(8):
        logits = [session.step(tokens) for session in sessions]
        assert logits[1].shape == logits[0].shape
        assert logits[1].dtype == torch.float32
        torch.testing.assert_close(logits[1], logits[0], rtol=0, atol=1e-5)
        parents = torch.randint(3, (len(tokens), 3), generator=draw)
        for session in sessions:
            session.reorder(parents)
        if step == 3:
            kept = torch.tensor([4, 0, 2])
            for session in sessions:
                session.keep(kept)
            tokens = tokens[kept]
        tokens = torch.randint(4, ours.tokenizer.num_ids, tokens.shape, generator=draw)


def test_each_token_has_the_log_probability_that_a_plain_call_gives(both):
    ours, theirs = both
    sources, targets = rows_of(ours, 40), ours.tokenizer.encode([pair[1] for pair in small_pairs(40, seed=6)])
    found = theirs.log_probabilities(Ragged.of(sources), Ragged.of(targets))
    assert list(map(len, found)) == list(map(len, targets))
    for number in (0, 17, 39):
        fed = [ours.tokenizer.start, *targets[number][:-1]]
        with torch.inference_mode():
            given = theirs.network(
                input_ids=torch.tensor([sources[number]]), decoder_input_ids=torch.tensor([fed])
            ).logits[0]
        plain = given.log_softmax(-1)[range(len(fed)), targets[number]]
        assert found[number] == pytest.approx(plain.tolist(), abs=1e-5)


def test_a_folder_without_settings_or_without_anything_is_wrong_input(exported_run, tmp_path):
    broken = shutil.copytree(exported_run, tmp_path / "broken")
    (broken / "config.json").write_text("{}")
    with pytest.raises(InputError, match="no activation_function"):
        open_hugging_face(broken, device=CPU)
    with pytest.raises(InputError, match="No such file"):
        open_hugging_face(tmp_path, device=CPU)


def test_weights_of_another_shape_are_wrong_input(exported_run, tmp_path):
    broken = shutil.copytree(exported_run, tmp_path / "broken")
    config = (broken / "config.json").read_text()
    (broken / "config.json").write_text(config.replace('"decoder_ffn_dim": 64', '"decoder_ffn_dim": 32'))
    with pytest.raises(InputError, match=r"fc1.weight of \[64, 32\] in place of \[32, 32\]"):
        open_hugging_face(broken, device=CPU)


def test_settings_that_are_known_from_elsewhere_must_be_those(exported_run):
    with pytest.raises(InputError, match="d_model 32"):
        open_hugging_face(exported_run, device=CPU, expected={"d_model": 64})
