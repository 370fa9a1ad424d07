"""Lines of progress during a fit."""

import time

from fuselearn import _progress
from fuselearn._progress import ProgressLines


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
