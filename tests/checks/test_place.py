from trimtab.checks.place import Place


def test_a_place_reads_as_compilers_write_it_and_sorts_in_the_order_of_the_file():
    assert str(Place("a/b.yaml", 3, 7)) == "a/b.yaml:3:7"
    places = [Place("b", 1, 1), Place("a", 10, 2), Place("a", 9, 1), Place("a", 10, 1)]
    assert sorted(places) == [places[2], places[3], places[1], places[0]]


def test_a_path_cannot_begin_a_line_of_its_own():
    place = Place("a\n::error::b.yaml", 1, 2)
    assert str(place) == r"a\n::error::b.yaml:1:2"
    assert place.path == "a\n::error::b.yaml"
