from trimtab.cli.app import app


def test_every_command_stands_in_the_help(call):
    names = {command.name or command.callback.__name__ for command in app.registered_commands}
    text = call("--help").stdout
    assert {"check", "explain", "rules", "train"} <= names
    assert [name for name in names if name not in text] == []
