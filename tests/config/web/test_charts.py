from xml.etree import ElementTree

import pytest

from config.web.charts import (
    Bar,
    Point,
    bar_chart,
    compact_number,
    grid_chart,
    line_chart,
    nice_ticks,
)

TEXTS = {"title": "Visitors", "description": "From 1 to 3 in a week."}


def parsed(svg):
    return ElementTree.fromstring(svg)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 100, [0, 25, 50, 75, 100]),
        (0, 7, [0, 2, 4, 6, 8]),
        (0, 0, [0, 0.25, 0.5, 0.75, 1]),
        (-3, 3, [-4, -2, 0, 2, 4]),
        (980, 1020, [980, 990, 1000, 1010, 1020]),
    ],
)
def test_ticks_are_round_and_span_the_values(low, high, expected):
    assert nice_ticks(low, high) == expected


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (1234, "1,234"), (12_345, "12.3k"), (1_200_000, "1.2M"), (3e9, "3B"), (0.5, "0.5")],
)
def test_numbers_are_short(value, text):
    assert compact_number(value) == text


def test_a_line_has_a_title_a_description_and_a_label_on_each_point():
    points = [Point(0, 1, "Monday: 1"), Point(1, 3, "Tuesday: 3")]
    tree = parsed(line_chart(points, x_ticks=[(0, "Mon")], **TEXTS))
    assert tree.get("role") == "img"
    ids = {element.get("id") for element in tree if element.get("id")}
    assert set(tree.get("aria-labelledby").split()) == ids
    assert [circle[0].text for circle in tree.iter("circle")] == ["Monday: 1", "Tuesday: 3"]
    assert "Mon" in [text.text for text in tree.iter("text")]


def texts(svg, anchor):
    return [one.text for one in parsed(svg).iter("text") if one.get("text-anchor") == anchor]


def test_whole_numbers_have_no_halves():
    visitors = line_chart([Point(0, 0), Point(1, 1)], **TEXTS)
    assert texts(visitors, "end") == ["0", "1"]
    assert texts(line_chart([Point(0, 0), Point(1, 0.5)], **TEXTS), "end")[1] == "0.2"


def test_a_flat_line_runs_through_the_middle_and_no_tick_is_told_twice():
    flat = line_chart([Point(0, 209_130), Point(1, 209_130)], from_zero=False, **TEXTS)
    heights = {float(circle.get("cy")) for circle in parsed(flat).iter("circle")}
    assert 50 < heights.pop() < 150
    shown = [text for text in texts(flat, "end") if text]
    assert len(shown) == len(set(shown)) > 1
    close = line_chart([Point(0, 209_130), Point(1, 209_190)], from_zero=False, **TEXTS)
    shown = [text for text in texts(close, "end") if text]
    assert len(shown) == len(set(shown))


def test_the_last_label_stays_on_the_paper():
    plot = line_chart([Point(0, 1), Point(1, 3)], x_ticks=[(0, "May 1"), (1, "May 31")], **TEXTS)
    assert texts(plot, "middle") == ["May 1"]
    assert texts(plot, "end")[-1] == "May 31"


def test_higher_values_stand_higher_and_better_ranks_too():
    def heights(**options):
        points = [Point(0, 1), Point(1, 5)]
        tree = parsed(line_chart(points, **TEXTS, **options))
        return [float(circle.get("cy")) for circle in tree.iter("circle")]

    low, high = heights()
    assert high < low
    first, fifth = heights(best_on_top=True)
    assert first < fifth


def test_bars_grow_with_their_value_and_one_stands_out():
    tree = parsed(bar_chart([Bar(1), Bar(4, "four", mark=True), Bar(0)], **TEXTS))
    bars = list(tree.iter("rect"))
    small, large, none = (float(bar.get("height")) for bar in bars)
    assert none == 0 < small < large
    assert "chart-mine" in bars[1].get("class")


def test_a_grid_leaves_out_what_is_not_known_yet():
    tree = parsed(grid_chart([("Mon", [1.0, 0.25]), ("Tue", [0.0, None])], ["1", "7"], **TEXTS))
    shades = [cell.get("class").split()[1] for cell in tree.iter("rect")]
    assert shades == ["chart-shade-9", "chart-shade-2", "chart-shade-0"]


@pytest.mark.parametrize("chart", [line_chart, bar_chart])
def test_nothing_to_show_is_still_a_picture(chart):
    assert parsed(chart([], **TEXTS)).tag == "svg"


def test_markup_in_a_label_stays_text():
    svg = line_chart([Point(0, 1, "<script>")], title="<b>", description="&")
    assert "<script>" not in svg
    assert "<b>" not in svg
    parsed(svg)
