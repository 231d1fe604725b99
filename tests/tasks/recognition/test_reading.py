from tests.image_run import reader_arm
from trimtab.tasks.recognition.reading import read_batch


def test_no_batch_changes_what_is_read(opened_both):
    parts, model, batch = reader_arm(opened_both, {})
    charset = parts.datasets.charset
    for head in ("ctc", "attention"):
        together = read_batch(model, batch, charset, head=head, most=8)
        alone = [
            read_batch(model, parts.examples.one_batch(number, number + 1), charset, head=head, most=8)[0]
            for number in range(batch.num_segments)
        ]
        assert [each.text for each in together] == [each.text for each in alone]
