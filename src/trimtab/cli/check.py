"""`trimtab check`: read by argparse, because importing typer would take half of the time of a check."""

import argparse
import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from trimtab.cli.shell import outcome, tell
from trimtab.errors import InputError, input_error, one_line

if TYPE_CHECKING:
    from trimtab.checks.mend_files import MendedFile
    from trimtab.checks.report import Report

FORMATS = ("text", "json", "sarif", "github")


def run_check(arguments: Sequence[str]) -> int:
    """Runs the command and gives its exit code."""
    reconfigure: Any = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:  # names of files and values may hold what the terminal cannot show
        reconfigure(errors="backslashreplace")
    try:
        options = check_parser(arguments).parse_args(arguments)
    except SystemExit as end:  # --help, or wrong usage, both told
        return int(end.code or 0)
    return outcome(lambda: _run(options))


def _run(options: argparse.Namespace) -> int:
    from trimtab.checks.check import Asked, check_as_asked

    select, ignore, versions = (_words(each) for each in (options.select, options.ignore, options.versions))
    if options.fix or options.diff:
        from trimtab.checks.mend_files import mend_files

        mended = mend_files(
            options.files,
            select=select,
            ignore=ignore,
            as_kind=options.as_kind,
            versions=versions,
            changes_training=options.changes_training,
            write=not options.diff,
        )
        if options.diff:
            return _show_differences(mended)
        _tell_mended(mended)
    asked = Asked(
        select=select,
        ignore=ignore,
        as_kind=options.as_kind,
        versions=versions,
        baseline=None if options.write_baseline else options.baseline,
        strict=options.strict,
        ignore_unknown=options.ignore_unknown,
        explain_reading=options.explain_reading,
    )
    report = check_as_asked(options.files, asked)
    if options.write_baseline and report.problems:
        return _tell_problems(report)  # a baseline of what could be read would forget the rest
    if options.write_baseline:
        from trimtab.checks.baseline import write_baseline

        write_baseline(options.write_baseline, report.diagnoses)
        count = len(report.diagnoses)
        print(
            f"{one_line(str(options.write_baseline))}: {count} finding{'s' * (count != 1)} written",
            file=sys.stderr,
        )
        return 0
    _say(report, options)
    return report.exit_code


def _say(report: "Report", options: argparse.Namespace) -> None:
    if options.format != "github":
        _tell_problems(report)
    match options.format:
        case "json":
            from trimtab.checks.say.json import as_json

            text = as_json(report)
        case "sarif":
            from trimtab.checks.say.sarif import as_sarif

            text = as_sarif(report)
        case "github":
            from trimtab.checks.say.github import as_github

            text = as_github(report)
        case _:
            from trimtab.checks.say.text import as_text

            in_colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
            text = as_text(report, in_colour=in_colour, brief=options.quiet)
    sys.stdout.write(text)


def _tell_problems(report: "Report") -> int:
    """Of each file the first ones: a hopeless file hides no other."""
    for problems in report.problems_by_file.values():
        tell(InputError(*problems))
    return InputError.exit_code


def _show_differences(mended: "Sequence[MendedFile]") -> int:
    from trimtab.checks.write import difference

    for each in mended:
        sys.stdout.write(difference(each.path, each.before, each.after))
    _tell_left(mended)
    return int(any(each.before != each.after for each in mended))


def _tell_mended(mended: "Sequence[MendedFile]") -> None:
    for each in mended:
        if each.done:
            codes = ", ".join(diagnosis.finding.code for diagnosis in each.done)
            print(f"{one_line(each.path)}: fixed {codes}", file=sys.stderr)
    _tell_left(mended)
    if problems := [each.problem for each in mended if each.problem]:
        raise InputError(*problems)


def _tell_left(mended: "Sequence[MendedFile]") -> None:
    for each in mended:
        for diagnosis, reason in each.left:
            print(f"{diagnosis.place}: {diagnosis.finding.code} not fixed: {reason}", file=sys.stderr)


def _words(given: list[str] | None) -> tuple[str, ...]:
    """`--select S,C101 --select L` and `--with "torch=2.11 peft=0.21"` alike."""
    return tuple(word for text in given or () for word in text.replace(",", " ").split())


class _Parser(argparse.ArgumentParser):
    """Reports wrong arguments like every other wrong input."""

    given = ""

    def error(self, message: str) -> NoReturn:
        """Ends with exit code 2."""
        tell(
            input_error(
                message.removeprefix("argument "),
                got=self.given or "nothing",
                allowed="files and folders, and the options in `trimtab check --help`",
                fix="see `trimtab check --help`",
            )
        )
        self.exit(InputError.exit_code)

    def format_help(self) -> str:
        """The page in the look of all other commands."""
        from trimtab.cli.check_help import check_help

        return check_help(self)


def check_parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """What reads the options; `arguments` are shown where they are wrong."""
    parser = _Parser(
        prog="trimtab check",
        description="Check training configurations: trimtab recipes; files of Hugging Face, PEFT, Accelerate, "
        "DeepSpeed, Axolotl, LLaMA-Factory, OpenNMT-py, Eole, Mammoth, Marian, Sockeye and fairseq; scripts, notebooks "
        "and launch lines.\n\nNothing is imported or run.",
        epilog="Exit code: 0 no errors (warnings and notes are fine), 1 errors, 2 a file that cannot be read, or a "
        "named file that is no known configuration.",
        allow_abbrev=False,
        formatter_class=partial(argparse.HelpFormatter, width=80),  # made for each option, never shown
    )
    parser.given = one_line(" ".join(arguments))
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help="files and folders; - is standard input")
    add("--format", choices=FORMATS, default="text", help="output format")
    add("-q", "--quiet", action="store_true", help="print one line per finding, and nothing else")
    add(
        "--select",
        action="append",
        metavar="CODES",
        help="run only these rules: codes, prefixes (S, S1) or names",
    )
    add("--ignore", action="append", metavar="CODES", help="skip these rules")
    add(
        "--ignore-unknown",
        action="store_true",
        help="skip files that are no configuration, even if named, for pre-commit, which names all files",
    )
    add(
        "--explain-reading",
        action="store_true",
        help="also print what was understood of each file, and what was not followed",
    )
    add("--strict", action="store_true", help="treat warnings as errors")
    add(
        "--as",
        dest="as_kind",
        metavar="KIND",
        help="kind of the files, if trimtab cannot tell: axolotl",
    )
    add(
        "--with",
        dest="versions",
        action="append",
        metavar="LIBRARY=VERSION",
        help="version of a library to check against: peft=0.21",
    )
    add("--fix", action="store_true", help="apply fixes that leave the training as it is")
    add(
        "--changes-training",
        action="store_true",
        help="with --fix: also apply fixes that change the training",
    )
    add("--diff", action="store_true", help="show what --fix would change, and write nothing")
    add("--baseline", type=Path, metavar="FILE", help="report only findings that are not in this file")
    add("--write-baseline", type=Path, metavar="FILE", help="write the current findings to a file")
    return parser
