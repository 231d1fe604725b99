from trimtab.decode.candidate import Candidate, n_best_text


def test_a_candidate_is_a_line_with_its_number_text_sum_and_score():
    few = [
        Candidate(text="ein Schiff", score=-0.5, log_probability=-2.0, num_tokens=4),
        Candidate(text="a ||| b", score=-float("inf"), log_probability=-float("inf"), num_tokens=2),
    ]
    text = n_best_text(7, few)
    assert text == ("7 ||| ein Schiff ||| F0= -2.000000 ||| -0.500000\n7 ||| a ||| b ||| F0= -inf ||| -inf\n")
    _, rest = text.splitlines()[1].split(" ||| ", 1)
    assert rest.rsplit(" ||| ", 2)[0] == "a ||| b"
