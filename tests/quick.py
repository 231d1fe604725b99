"""Which cases of a test belong to the quick suite; `pytest -m slow` has the others."""

from collections.abc import Iterable, Mapping
from typing import Any

import pytest


def quick(cases: Mapping[str, Any] | Iterable[Any], *names: str) -> list[Any]:
    """Parameters of a test; all but the named ones are marked `slow`.

    A case that is a tuple has a value for each of several arguments; one without a name is called as itself.
    """
    named = cases if isinstance(cases, Mapping) else {str(case): case for case in cases}
    missing = [name for name in names if name not in named]
    assert not missing, f"no such case: {missing}"
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            id=name,
            marks=() if name in names else pytest.mark.slow,
        )
        for name, case in named.items()
    ]
