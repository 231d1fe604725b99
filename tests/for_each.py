"""One test over many small cases: `pytest` spends more on a test of its own for each than the cases take."""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest


def for_each(
    names: str | tuple[str, ...], cases: Iterable[Any], *, called: Callable[[Any], object] = repr
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """As `pytest.mark.parametrize`, in one test: all cases run, and it fails with the errors of all that failed.

    `called` gives the name of a case. Fixtures are those of the one test, so cases must leave them as they were.
    """
    listed = list(cases)
    assert listed, "no case: nothing would be tested"

    def decorated(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def over_all(**fixtures: Any) -> None:
            errors = []
            for case in listed:
                given = {names: case} if isinstance(names, str) else dict(zip(names, case, strict=True))
                try:
                    test(**given, **fixtures)
                except pytest.skip.Exception as skipped:
                    raise AssertionError("a case of for_each may not skip") from skipped
                except (Exception, pytest.fail.Exception) as error:
                    error.add_note(f"case: {called(case)}")
                    errors.append(error)
            if errors:
                said = ", ".join(error.__notes__[-1].removeprefix("case: ") for error in errors)
                raise BaseExceptionGroup(f"{len(errors)} of {len(listed)} cases fail: {said}", errors)

        signature = inspect.signature(test)
        own = {names} if isinstance(names, str) else set(names)
        assert own <= signature.parameters.keys(), f"no such argument: {own - signature.parameters.keys()}"
        fixtures = [each for name, each in signature.parameters.items() if name not in own]
        over_all.__signature__ = signature.replace(parameters=fixtures)  # pyright: ignore
        return over_all

    return decorated
