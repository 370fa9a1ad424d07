"""Long work outside a terminal prints a line from time to time, with the time left of a fit."""

import io
import re
import sys
import time

import pytest
from sklearn.base import BaseEstimator

from fuselearn import KFHEClassifier
from fuselearn.cli import progress


class Slow(BaseEstimator):
    def __init__(self, verbose=0):
        self.verbose = verbose

    def fit(self):
        for number in range(1, 4):
            if self.verbose:
                print(f"{number} of 3 members; 1 s, about {3 - number} s left.")
            time.sleep(0.1)


@pytest.fixture(autouse=True)
def _often(monkeypatch):
    monkeypatch.setattr(progress, "SILENCE", 0.05)


def test_lines_of_a_fit_go_to_standard_error(capsys):
    model = Slow()
    with progress.fitting(model, "Training Slow"):
        model.fit()
    said = capsys.readouterr()
    assert said.out == ""
    assert re.search(r"^1 of 3 members; 1 s, about 2 s left. \(0 s so far\)$", said.err, re.MULTILINE)
    assert len(said.err.splitlines()) >= 3
    assert model.verbose == 0


def test_lines_that_the_user_asks_for_stay_as_they_are(capsys):
    model = Slow(verbose=1)
    with progress.fitting(model, "Training Slow"):
        model.fit()
    said = capsys.readouterr()
    assert said.out.startswith("1 of 3 members; 1 s, about 2 s left.\n2 of 3")
    assert "Training Slow" in said.err


def test_other_work_says_what_it_is_and_for_how_long(capsys):
    with progress.working("Reading x.csv") as tell:
        time.sleep(0.08)
        tell("Reading y.csv")
        time.sleep(0.08)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "Reading x.csv (0 s so far)"
    assert lines[-1] == "Reading y.csv (0 s so far)"


def test_quick_work_is_silent(capsys, monkeypatch):
    monkeypatch.setattr(progress, "SILENCE", 30.0)
    with progress.fitting(model := KFHEClassifier(n_estimators=2), "Training"):
        model.fit([[0.0], [1.0]] * 5, [0, 1] * 5)
    assert capsys.readouterr() == ("", "")


def test_a_terminal_gets_a_spinner(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setenv("TERM", "xterm")
    with progress.working("Reading [x].csv") as tell:
        tell("Reading [y].csv")
        time.sleep(0.2)
    assert "Reading [y].csv" in shown.getvalue()
