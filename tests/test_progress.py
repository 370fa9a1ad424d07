"""Lines of progress during a fit."""

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
