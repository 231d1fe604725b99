import pytest

from trimtab.errors import InputError
from trimtab.tasks.images.new_folder import check_new


def test_only_a_folder_that_is_not_there_or_is_empty_is_filled(tmp_path):
    check_new(tmp_path)
    check_new(tmp_path / "new")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is not empty"):
        check_new(tmp_path)
    with pytest.raises(InputError, match="is a file"):
        check_new(tmp_path / "file")
