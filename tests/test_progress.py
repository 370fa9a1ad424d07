"""Lines of progress during a fit; long work outside a terminal prints a line from time to time."""

import io
import re
import sys
import time

import pytest
from sklearn.base import BaseEstimator

from fuselearn import KFHEClassifier, _progress
from fuselearn._progress import ProgressLines, fitting, working


def lines_of(capsys, verbose, total, times, n_before=0):
    clock = iter(times)
    progress = ProgressLines("Model", verbose, total, n_before, clock=lambda: next(clock))
    for number in range(n_before + 1, total + 1):
        progress.report(number, {"error": 0.5} if number % 2 else {})
    return capsys.readouterr().out.splitlines()


def test_ten_lines_and_the_time_left(capsys):
    lines = lines_of(capsys, 1, 30, range(0, 1000, 20))
    assert len(lines) == 10 + 10  # 40 seconds without a line are too many
    assert lines[0] == "[Model] 2 of 30 members; 40 s, about 9 min 20 s left."
    assert lines[1] == "[Model] 3 of 30 members: error 0.500; 1 min 0 s, about 9 min 0 s left."
    assert lines[-1] == "[Model] 30 of 30 members; 10 min 0 s."


def test_a_fast_fit_prints_ten_lines_and_a_silent_one_none(capsys):
    assert len(lines_of(capsys, 1, 30, range(100))) == 10
    assert len(lines_of(capsys, 2, 30, range(100))) == 30
    assert lines_of(capsys, 0, 30, range(100)) == []


def test_members_of_an_earlier_fit_took_no_time(capsys):
    assert lines_of(capsys, 1, 8, range(0, 100, 10), n_before=6)[0].endswith("error 0.500; 10 s, about 10 s left.")


def test_a_plan_before_the_first_member_and_lines_while_it_takes_long(capsys, monkeypatch):
    monkeypatch.setattr(_progress, "MOST_SILENCE", 0.05)
    seen = []

    def train():
        for number in (1, 2):
            time.sleep(0.18)
            seen.append(capsys.readouterr().out.splitlines())
            yield number

    progress = ProgressLines("Model", 1, 2, noun="members measured")
    assert list(progress.follow(train(), "Measuring 2 members.")) == [1, 2]
    assert seen[0][0] == "[Model] Measuring 2 members."
    assert len(seen[0]) > 1
    assert all(line.startswith("[Model] 0 of 2 members measured; ") for line in seen[0][1:])
    assert any(line.startswith("[Model] 1 of 2 members measured; ") and "left" in line for line in seen[1])
    time.sleep(0.1)
    assert len(capsys.readouterr().out.splitlines()) <= 3  # nothing is printed after the end


class Slow(BaseEstimator):
    def __init__(self, verbose=0):
        self.verbose = verbose

    def fit(self):
        for number in range(1, 4):
            if self.verbose:
                print(f"{number} of 3 members; 1 s, about {3 - number} s left.")
            time.sleep(0.1)


@pytest.fixture
def often(monkeypatch):
    monkeypatch.setattr(_progress, "MOST_SILENCE", 0.05)


@pytest.mark.usefixtures("often")
def test_lines_of_a_fit_go_to_standard_error(capsys):
    model = Slow()
    with fitting(model, "Training Slow"):
        model.fit()
    said = capsys.readouterr()
    assert said.out == ""
    assert re.search(r"^1 of 3 members; 1 s, about 2 s left. \(0 s so far\)$", said.err, re.MULTILINE)
    assert len(said.err.splitlines()) >= 3
    assert model.verbose == 0


@pytest.mark.usefixtures("often")
def test_lines_that_the_user_asks_for_stay_as_they_are(capsys):
    model = Slow(verbose=1)
    with fitting(model, "Training Slow"):
        model.fit()
    said = capsys.readouterr()
    assert said.out.startswith("1 of 3 members; 1 s, about 2 s left.\n2 of 3")
    assert "Training Slow" in said.err


@pytest.mark.usefixtures("often")
def test_other_work_says_what_it_is_and_for_how_long(capsys):
    with working("Reading x.csv") as tell:
        time.sleep(0.08)
        tell("Reading y.csv")
        time.sleep(0.08)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "Reading x.csv (0 s so far)"
    assert lines[-1] == "Reading y.csv (0 s so far)"


def test_quick_work_is_silent(capsys):
    with fitting(model := KFHEClassifier(n_estimators=2), "Training"):
        model.fit([[0.0], [1.0]] * 5, [0, 1] * 5)
    assert capsys.readouterr() == ("", "")


def test_a_terminal_gets_a_spinner(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setenv("TERM", "xterm")
    with working("Reading [x].csv") as tell:
        tell("Reading [y].csv")
        time.sleep(0.2)
    assert "Reading [y].csv" in shown.getvalue()
