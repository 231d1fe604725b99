from trimtab.checks.kinds.kind import Surroundings


def test_without_surroundings_there_is_no_version_and_no_file_beside():
    nothing = Surroundings()
    assert dict(nothing.versions) == {}
    assert nothing.beside("config.json") is None
