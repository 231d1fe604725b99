from hypothesis import given
from hypothesis import strategies as st

from tests.data.transforms.test_protect import protector
from trimtab.data.transforms.restore import Restorer
from trimtab.inference.document_streams import gathered, restored_documents

DOCUMENTS = st.lists(st.lists(st.sampled_from(["one", "two {0}", ""]), max_size=3), max_size=5)


def numbered(documents):
    """Each sentence in upper case, one document after another."""
    for number, document in enumerate(documents):
        for sentence in document:
            yield number, sentence.upper()


@given(DOCUMENTS)
def test_each_document_has_its_list_and_one_without_a_sentence_an_empty_one(documents):
    assert list(gathered(documents, numbered)) == [[text.upper() for text in each] for each in documents]


def test_a_document_is_there_before_the_one_after_the_next_is_read():
    read = []

    def documents():
        for number in range(3):
            read.append(number)
            yield [str(number)]

    assert next(gathered(documents(), numbered)) == ["0"]
    assert read == [0, 1]


@given(DOCUMENTS)
def test_every_sentence_gets_back_its_own_values_in_whatever_order_documents_are_read(documents):
    protect = protector()
    restorer = Restorer(protect, protect.protect, exact=True)

    def side_by_side(given):
        kept = [[protect.protect(sentence).text for sentence in document] for document in list(given)]
        return iter([(number, text) for number, document in enumerate(kept) for text in document])

    assert list(restored_documents(documents, side_by_side, restorer)) == [
        (number, sentence) for number, document in enumerate(documents) for sentence in document
    ]
