import platform

import numpy as np
import pytest

from trimtab.export import byte_products
from trimtab.export.byte_products import FULL, REDUCED, largest_weight


@pytest.mark.parametrize(
    ("flags", "largest"),
    [
        ("fpu avx2 avx512f", REDUCED),
        ("fpu avx2 avx512f avx512_vnni", FULL),
        ("fpu avx2 avx_vnni", FULL),
        ("", REDUCED),
    ],
)
def test_x86_has_the_full_range_with_vnni_alone(monkeypatch, tmp_path, flags, largest):
    (tmp_path / "cpuinfo").write_text(f"processor\t: 0\nflags\t\t: {flags}\nbugs\t\t: avx512_vnni\n")
    monkeypatch.setattr(byte_products, "_PROCESSORS", tmp_path / "cpuinfo")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    assert largest_weight() == largest


def test_arm_needs_no_flag_and_what_says_nothing_of_itself_has_none(monkeypatch, tmp_path):
    monkeypatch.setattr(byte_products, "_PROCESSORS", tmp_path / "none")
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    assert largest_weight() == FULL
    monkeypatch.setattr(platform, "machine", lambda: "AMD64")
    assert largest_weight() == REDUCED


def test_two_products_of_bytes_fit_into_sixteen_bits_with_reduced_weights_alone():
    most = np.iinfo(np.int16).max
    assert 2 * 255 * REDUCED <= most < 2 * 255 * FULL
