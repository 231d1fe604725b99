import io
import sys
from types import SimpleNamespace

from trimtab.cli.typed_lines import is_typed, typed


def test_each_line_is_asked_for(capsys):
    lines = typed(io.BytesIO(b"one\ntwo\n"))
    assert [lines.readline(100) for _ in range(3)] == [b"one\n", b"two\n", b""]
    assert capsys.readouterr().err == "Type a line and the return key; Ctrl-D ends.\n> > > \n"


def test_only_a_terminal_is_typed_into(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True))
    assert is_typed(None)
    assert not is_typed(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    assert not is_typed(None)
