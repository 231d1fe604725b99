import math
from xml.etree import ElementTree

from trimtab.tuning.learning_rate import RateRange, RateTried, judged
from trimtab.tuning.picture import in_characters, svg

SVG = "{http://www.w3.org/2000/svg}"


def a_range(*, name="a<b & c"):
    tried = tuple(
        RateTried(rate, loss, (2.0,))
        for rate, loss in [(1e-3, 1.9), (1e-2, 1.0), (1e-1, 5.0), (1.0, math.nan)]
    )
    best, edge, suggested, reason = judged(tried, 2.0)
    return RateRange(
        name=name,
        start_loss=2.0,
        tried=tried,
        best=best,
        edge=edge,
        suggested=suggested,
        reason=reason,
        current=1e-3,
        steps=20,
        num_targets=256,
    )


def test_the_plot_is_sound_svg_with_a_point_for_each_rate():
    tree = ElementTree.fromstring(svg(a_range()))
    points = tree.findall(f"{SVG}circle")
    heights = [float(point.get("cy")) for point in points]
    assert len(points) == 4
    assert heights[1] == max(heights)  # the lowest loss is the lowest point
    assert heights[2] == heights[3] == min(heights)  # what diverged lies at the top, in another color
    assert points[2].get("fill") == points[3].get("fill") != points[0].get("fill")
    assert "suggested: 0.01" in [each.text for each in tree.findall(f"{SVG}text")]
    assert "a<b & c" in tree.find(f"{SVG}title").text


def test_a_bar_is_as_long_as_the_loss_fell():
    head, first, second, third, fourth = in_characters(a_range(), is_ascii=True).splitlines()
    assert "decrease from 2.0000" in head
    assert (first.count("#"), second.count("#")) == (6, 60)
    assert third.endswith("above starting loss")
    assert fourth.endswith("diverged")
    assert "█" in in_characters(a_range())
