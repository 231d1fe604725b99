import json

import numpy as np
import pytest
from PIL import Image

from tests.image_run import image_recipe, image_sources, small_lines, sources_of
from trimtab.errors import InputError
from trimtab.launch import train


@pytest.mark.slow
def test_what_cannot_be_read_is_counted_with_its_line_and_in_a_validation_set_an_error(tmp_path, own_cache):
    recipe = image_recipe(tmp_path)
    (tmp_path / "train" / "3.png").write_bytes(b"damaged")
    Image.new("L", (1, 1)).save(tmp_path / "train" / "5.png")
    Image.new("L", (4, 40)).save(tmp_path / "train" / "7.png")  # too narrow for its characters
    run = train(recipe, out=tmp_path / "run", overrides=["length=12 steps"]).run
    (ledger,) = json.loads((run / "data_ledger.json").read_text())["corpora"]
    lines = {reason: each["lines"] for reason, each in ledger["dropped"].items()}
    assert lines == {
        "more characters than CTC has columns for": [8],
        "too small": [6],
        "unreadable image": [4],
    }
    (tmp_path / "dev" / "2.png").write_bytes(b"damaged")
    with pytest.raises(InputError) as error:
        train(recipe, out=tmp_path / "other")
    assert "data.valid: " in str(error.value)
    assert "labels.tsv:3: unreadable image" in str(error.value)


def test_rendered_lines_are_trained_on_and_every_chunk_is_a_function_of_its_place(tmp_path, own_cache):
    from PIL import ImageFont

    (tmp_path / "font.ttf").write_bytes(ImageFont.load_default(20).font_bytes)
    (tmp_path / "lines.txt").write_text("\n".join(small_lines(40)) + "\n")
    drawn = {"text": "lines.txt", "render": {"fonts": ["font.ttf"]}}
    _, datasets = image_sources(tmp_path, **{"data.train": [drawn], "data.valid": drawn})
    one, other = (datasets.feed.chunk(start=128, count=9) for _ in range(2))
    assert np.array_equal(one.source.values, other.source.values)
    assert not np.array_equal(datasets.feed.chunk(start=256, count=9).source.values, one.source.values)
    assert sources_of(tmp_path)[1].fingerprints == datasets.fingerprints
