"""Side data of documents under translation: their boundaries, and what was removed from their lines."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from trimtab.data.transforms.restore import Restorer


def gathered(
    documents: Iterable[Sequence[str]],
    run: Callable[[Iterable[Iterable[str]]], Iterator[tuple[int, str]]],
) -> Iterator[list[str]]:
    """What `run` makes of the documents, a list for each, also for one without a sentence."""
    num_read = 0

    def counted() -> Iterator[Sequence[str]]:
        nonlocal num_read
        for document in documents:
            num_read += 1
            yield document

    given, done = 0, list[str]()
    for number, sentence in run(counted()):
        while given < number:
            yield done
            given, done = given + 1, []
        done.append(sentence)
    while given < num_read:
        yield done
        given, done = given + 1, []


def restored_documents(
    documents: Iterable[Iterable[str]],
    run: Callable[[Iterable[Iterable[str]]], Iterator[tuple[int, str]]],
    restorer: Restorer,
) -> Iterator[tuple[int, str]]:
    """What `run` makes of the documents, with what was protected put back into every sentence."""
    read: dict[int, deque[str]] = defaultdict(deque)

    def noted(number: int, sentences: Iterable[str]) -> Iterator[str]:
        for sentence in sentences:
            read[number].append(sentence)
            yield sentence

    for number, text in run(noted(number, sentences) for number, sentences in enumerate(documents)):
        yield number, restorer.restored(read[number].popleft(), text)
