import pytest
from fuselearn.lab.reporting.styles import COLOURS, MARKERS, USUAL_PLACES, method_styles


def test_the_usual_methods_look_the_same_in_any_company():
    alone = method_styles(["KFHE"])["KFHE"]
    crowd = method_styles(["Zebra", *list(USUAL_PLACES)[:8][::-1], "Ant"])
    assert crowd["KFHE"] == alone
    assert method_styles(["CART", "Ant"])["CART"] == crowd["CART"]


def test_the_order_of_the_methods_does_not_matter():
    methods = ["Mine", "KFHE", "Yours", "CART"]
    assert method_styles(methods) == method_styles(methods[::-1])


@pytest.mark.parametrize("n_methods", [3, 10, 11, 40, 100])
def test_all_methods_look_apart(n_methods):
    styles = method_styles([f"method {i}" for i in range(n_methods)])
    assert len(set(styles.values())) == n_methods


def test_ten_methods_have_ten_colours_and_markers():
    styles = method_styles([*list(USUAL_PLACES)[:8], "RandomForest leaf 3", "Mine"])
    assert {style.color for style in styles.values()} == set(COLOURS)
    assert {style.marker for style in styles.values()} == set(MARKERS)


def test_two_methods_with_one_usual_place_still_look_apart():
    styles = method_styles(["KFHE", "KFHE-HOMER", "KFHE"])
    assert len(styles) == 2
    assert styles["KFHE"] != styles["KFHE-HOMER"]


def test_too_many_methods_are_refused():
    with pytest.raises(ValueError, match="methods must have at most 100"):
        method_styles(range(101))
