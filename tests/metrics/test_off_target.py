"""The off-target rate, by real sentences of two languages."""

import math

import pytest

from trimtab.errors import InputError
from trimtab.metrics.off_target import OFF_TARGET, off_target

GERMAN = [
    "Das Programm öffnet die Datei und zeigt ihren Inhalt an.",
    "Wählen Sie die Zelle aus, deren Inhalt Sie löschen möchten.",
    "Der Rechner wurde vor dem Neustart nicht richtig heruntergefahren.",
    "OK",
]
ENGLISH = [
    "The program opens the file and shows what is in it.",
    "Select the cell whose content you want to delete.",
    "The computer was not shut down properly before it was restarted.",
    "OK",
]


def test_lines_in_the_language_of_the_references_are_on_target() -> None:
    found = off_target(GERMAN, GERMAN)
    assert found.value == 0
    assert "language:de" in found.signature
    assert "lines:3" in found.signature


def test_lines_in_another_language_are_counted() -> None:
    assert off_target(ENGLISH, GERMAN).value == 100
    assert off_target([ENGLISH[0], *GERMAN[1:]], GERMAN).value == pytest.approx(100 / 3)


def test_nothing_is_judged_where_references_are_no_language() -> None:
    assert math.isnan(off_target(["x", "y"], ["1", "2"]).value)
    assert off_target(["", *GERMAN[1:]], GERMAN).value == 0


def test_unequal_sets_are_refused_and_lower_is_better() -> None:
    with pytest.raises(InputError):
        off_target(GERMAN, GERMAN[1:])
    assert OFF_TARGET.lower_is_better
