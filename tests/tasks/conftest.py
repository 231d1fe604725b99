"""The parts that the checks of every task are tried with, and fonts to draw images with."""

import pytest

from tests.training.preflight.conftest import opened, parts, parts_with

__all__ = ["opened", "parts", "parts_with"]


@pytest.fixture(scope="session")
def font_file(tmp_path_factory):
    """The font that comes with Pillow, as a file."""
    from PIL import ImageFont

    path = tmp_path_factory.mktemp("fonts") / "aileron.ttf"
    path.write_bytes(ImageFont.load_default(20).font_bytes)
    return path


@pytest.fixture(scope="session")
def fonts(font_file):
    """The set of this one font."""
    from trimtab.tasks.images.fonts import open_fonts

    return open_fonts([str(font_file.parent)], key="fonts")
