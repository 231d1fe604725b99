import shutil
from pathlib import Path

import pytest
import torch
from PIL import Image
from transformers import AutoImageProcessor, AutoTokenizer, LogitsProcessorList, VisionEncoderDecoderModel

from tests.image_run import VALID_LINES, image_recipe, sources_of
from tests.model.module.test_seq2seq import EndAt
from tests.trocr_folder import OF_FOLDER, trocr_folder
from tests.unchecked import model_unchecked
from trimtab.build import build
from trimtab.data.sentencepiece_model import LINE_ENDS
from trimtab.decode.hypothesis import Symbols
from trimtab.launch import train
from trimtab.step.accumulate import accumulate
from trimtab.tasks.images.pixels import BadImage
from trimtab.tasks.recognition.reading import read_batch
from trimtab.tasks.recognition.trocr import keep_positions

STYLES = ("base", "small")
LIMIT = 12


@pytest.fixture(scope="module", params=STYLES)
def made(request, own_cache, tmp_path_factory):
    """A folder of a style, and the parts of a run that begins with it."""
    folder = tmp_path_factory.mktemp(request.param)
    trocr_folder(folder / "trocr", request.param)
    parts = parts_of(folder, **{"model.dropout": 0.0, "data.images": {"augment": None}})
    return folder, parts


def parts_of(folder, **changes):
    image_recipe(folder, **{**OF_FOLDER, **changes})
    parts = build(*sources_of(folder), device=torch.device("cpu"))
    parts.model.fill(str(folder / "trocr"))
    return parts


def oracle(folder: Path):
    network = VisionEncoderDecoderModel.from_pretrained(folder, local_files_only=True).eval()
    keep_positions(network)
    return network


def texts_of(folder, rows):
    found = AutoTokenizer.from_pretrained(folder).batch_decode(rows, skip_special_tokens=True)
    return [LINE_ENDS.sub(" ", each) for each in found]


def valid_images(folder):
    return [Image.open(folder / "dev" / f"{number}.png").convert("RGB") for number in range(VALID_LINES)]


def values_of(folder, images):
    return AutoImageProcessor.from_pretrained(folder / "trocr")(images, return_tensors="pt").pixel_values


def test_images_are_those_of_the_image_processor_and_losses_those_of_transformers(made):
    folder, parts = made
    valid, model = parts.datasets.valid["valid"], parts.model.eval()
    (batch,) = parts.batching.whole_set(valid.images.between(0, 4), valid.ids.between(0, 4))
    values = values_of(folder, valid_images(folder)[:4])
    assert torch.allclose(model.normalized(model.images(batch.patches)), values, atol=1e-6)
    network, total = oracle(folder / "trocr"), 0.0
    for number in range(4):
        ids = valid.ids.row(number).tolist()
        loss = network(pixel_values=values[number : number + 1], labels=torch.tensor([ids])).loss
        total += loss.item() * len(ids)
    assert float(parts.stepper.loss(model, batch).loss) == pytest.approx(total, rel=1e-5)


@pytest.mark.parametrize("beam", [1, 3])
def test_texts_are_those_of_generate(made, beam):
    folder, parts = made
    valid, charset = parts.datasets.valid["valid"], parts.datasets.charset
    (batch,) = parts.batching.whole_set(valid.images.between(0, 6), valid.ids.between(0, 6))
    found = read_batch(parts.model.eval(), batch, charset, head="attention", most=LIMIT, beam=beam)
    symbols = Symbols.of(charset)
    written = oracle(folder / "trocr").generate(
        values_of(folder, valid_images(folder)[:6]), num_beams=beam, do_sample=False, length_penalty=1.0,
        early_stopping="never" if beam > 1 else False, max_length=LIMIT + 1, suppress_tokens=list(symbols.suppress),
        logits_processor=LogitsProcessorList([EndAt(LIMIT, end=symbols.end)]),
    )  # fmt: skip
    assert [each.text for each in found] == texts_of(folder / "trocr", written)
    assert len({each.text for each in found}) > 1, "a model that reads every image alike would show nothing"


def test_a_text_begins_behind_the_start_symbol_and_ends_with_the_end_which_is_the_same(made):
    _, parts = made
    charset = parts.datasets.charset
    (ids,) = charset.encode(["abc"])
    assert charset.start == charset.end == ids[-1] == 2
    assert 0 not in ids
    assert charset.decode([ids]) == ["abc"]


def test_a_step_is_the_same_however_it_is_cut(made):
    _, parts = made
    model = parts.model.train()
    gradients = []
    for pieces in ([(0, 4)], [(0, 2), (2, 4)], [(0, 1), (1, 2), (2, 3), (3, 4)]):
        model.zero_grad(set_to_none=True)
        accumulate(parts.stepper.objective, [parts.examples.one_batch(*each) for each in pieces])
        gradients.append(
            torch.cat([each.grad.flatten() for each in model.parameters() if each.grad is not None])
        )
    for other in gradients[1:]:
        assert float((other - gradients[0]).norm() / gradients[0].norm()) < 1e-5


@pytest.mark.slow
def test_a_run_passes_its_checks_and_resumes_with_the_same_bits(tmp_path, own_cache):
    trocr_folder(tmp_path / "trocr")
    recipe = image_recipe(tmp_path, **OF_FOLDER, freeze=["network.encoder.*"], length="4 steps")
    result = train(recipe, out=tmp_path / "run")
    assert not result.findings
    shutil.copytree(tmp_path / "run", tmp_path / "again")
    for step in (tmp_path / "again" / "checkpoints").glob("step-*4"):
        shutil.rmtree(step)
    shutil.rmtree(tmp_path / "trocr")
    with model_unchecked():
        train(recipe, out=tmp_path / "again", resume=True)
    name = Path("checkpoints", "step-00000004", "model.safetensors")
    assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_a_frozen_encoder_keeps_its_weights(made, own_cache):
    folder, _ = made
    parts = parts_of(folder, freeze=["network.encoder.*"])
    trained = {name for name, weight in parts.model.named_parameters() if weight.requires_grad}
    assert trained
    assert not any(name.startswith("network.encoder.") for name in trained)


def test_training_images_are_changed_at_their_own_shape(made):
    folder, _ = made
    image_recipe(folder, **OF_FOLDER)
    _, datasets = sources_of(folder)
    reader = datasets.reader
    assert reader.images.augment is not None
    (seen,) = {datasets.feed.chunk(start=0, count=1).source.row(0).shape}
    assert seen == (4 + 32 * 32 * 3,)
    assert not isinstance(reader.sized(Image.new("RGB", (300, 20))), BadImage)
