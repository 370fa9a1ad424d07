"""The public estimators predict what they did in the version that ``fingerprints.json`` was written with.

``python tests/fingerprints.py quick tests/fingerprints.json`` writes it again, after a change that is meant.
"""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from tests.contract.registry import find_public_classes

HERE = Path(__file__).parent
STORED = json.loads((HERE / "fingerprints.json").read_text("utf-8"))


def load_fingerprints():
    spec = importlib.util.spec_from_file_location("fingerprints", HERE / "fingerprints.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


fingerprints = load_fingerprints()


def test_all_cases_are_stored():
    assert [(case["expression"], case["table"]) for case in STORED] == fingerprints.list_quick_cases()


def test_every_public_estimator_has_a_case():
    named = {case["expression"].split("(")[0] for case in STORED}
    assert {kind.__name__ for kind in find_public_classes()} <= named


@pytest.mark.parametrize("expression", dict.fromkeys(case["expression"] for case in STORED))
def test_predictions_are_those_of_the_stored_version(expression):
    for case in (case for case in STORED if case["expression"] == expression):
        found = fingerprints.take_fingerprint(expression, case["table"])
        short = fingerprints.shorten(found)
        assert short.get("error") == case.get("error"), (case["table"], found.get("message"))
        if "error" not in case:
            np.testing.assert_allclose(short["values"], case["values"], rtol=1e-6, atol=1e-6, err_msg=case["table"])
            assert short["predictions"] == case["predictions"], case["table"]
