import os
import shutil
import subprocess
import sys

import pytest

from trimtab.cli.completion import Shell, prepare_completion, recipe_keys, script_for


def completed(monkeypatch, capsys, line: str) -> list[str]:
    """What bash is offered for the last word of a line."""
    from trimtab.cli.app import app

    monkeypatch.setattr(sys, "argv", ["trimtab"])
    for name, value in {"COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("_TRIMTAB_COMPLETE", "complete_bash")
    prepare_completion()
    with pytest.raises(SystemExit):
        app(prog_name="trimtab")
    return capsys.readouterr().out.split()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("trimtab tra", ["train", "translate"]),
        ("trimtab train --smo", ["--smoke"]),
        ("trimtab check --fo", ["--format"]),
        ("trimtab train my.yaml step.clip.a", ["step.clip.at="]),
        ("trimtab translate --stop e", ["exact", "enough"]),
        ("trimtab data insp", ["inspect"]),
        ("trimtab completion z", ["zsh"]),
    ],
)
def test_commands_options_values_and_recipe_keys_are_completed(monkeypatch, capsys, line, words):
    assert completed(monkeypatch, capsys, line) == words


@pytest.mark.parametrize("shell", [*Shell])
def test_each_shell_has_a_script_that_it_can_read(call, shell):
    script = call("completion", shell.value).stdout
    assert script == script_for(shell) + "\n"
    assert f"_TRIMTAB_COMPLETE=complete_{shell.value}" in script
    if program := shutil.which(shell.value):
        assert subprocess.run([program, "-n"], input=script, text=True, check=False).returncode == 0


def test_bash_gets_its_words_from_trimtab_itself(tmp_path):
    (tmp_path / "trimtab").write_text('#!/bin/sh\necho "$COMP_CWORD:$_TRIMTAB_COMPLETE"\n')
    (tmp_path / "trimtab").chmod(0o755)
    asked = "COMP_WORDS=(trimtab tr) COMP_CWORD=1\n_trimtab_completion trimtab\necho $COMPREPLY"
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", f"{script_for(Shell.BASH)}\n{asked}"],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
    )
    assert done.stdout == "1:complete_bash\n"


@pytest.mark.skipif(shutil.which("zsh") is None, reason="needs zsh")
@pytest.mark.parametrize(
    ("told", "words", "done"),
    [
        (
            '_arguments \'*: :(("step.a="\n"step.b="))\'',
            "step.a=\nstep.b=",
            "compadd -S  -a keys: step.a= step.b=",
        ),
        ('_arguments \'*: :(("train":"Train."))\'', "", '_arguments *: :(("train":"Train."))'),
    ],
)
def test_zsh_leaves_no_space_after_a_key_whose_value_follows(tmp_path, told, words, done):
    for name, text in (("complete_zsh", told), ("complete_bash", words)):
        (tmp_path / name).write_text(text)
    (tmp_path / "trimtab").write_text(f'#!/bin/sh\ncat {tmp_path}/"$_TRIMTAB_COMPLETE"\n')
    (tmp_path / "trimtab").chmod(0o755)
    stubs = 'compdef() { }\ncompadd() { print -r -- compadd "$@: $keys" }\n_arguments() { print -r -- _arguments $@ }'
    asked = "words=(trimtab train step.) CURRENT=3\n_trimtab_completion"
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    found = subprocess.run(
        ["zsh", "-fc", f"{stubs}\n{script_for(Shell.ZSH)}\n{asked}"],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
    )
    assert found.stdout == f"{done}\n"


def test_a_key_is_completed_up_to_its_value():
    assert "step.optimizer.learning_rate=" in recipe_keys("step.optimizer.l")
    assert recipe_keys("nothing") == []
    assert "step.clip=" not in recipe_keys("step.cl")


def test_an_unknown_shell_is_refused(call):
    result = call("completion", "tcsh")
    assert result.exit_code == 2
    assert "'bash', 'zsh', 'fish'" in result.stderr
