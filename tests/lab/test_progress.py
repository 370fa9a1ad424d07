"""Progress is told in numbers; the bar shows in a terminal only."""

import io

import pytest
from rich.console import Console

from fuselearn._messages import format_seconds
from fuselearn.lab.runner import Progress, progress_bar


def test_the_time_left_follows_from_the_share_of_the_work():
    assert Progress(5, 10, 0, share=0.2, seconds=30).remaining == pytest.approx(120)
    assert Progress(0, 10, 0, share=0, seconds=3).remaining is None
    assert Progress(10, 10, 0, share=1, seconds=30).remaining == 0


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (3599, "59 min 59 s"), (3600, "1 h 0 min"),
     (7170, "2 h 0 min")],
)  # fmt: skip
def test_seconds_in_words(seconds, words):
    assert format_seconds(seconds) == words


def draw(terminal):
    text = io.StringIO()
    with progress_bar("kfhe", Console(file=text, force_terminal=terminal, width=120)) as tell:
        tell(Progress(30, 60, 2, share=0.25, seconds=100, dataset="iris"))
    return text.getvalue()


def test_a_terminal_shows_how_far_it_is():
    shown = draw(terminal=True)
    for part in ("kfhe", "25%", "30 of 60 fits", "about 5 min 0 s left", "2 failed", "iris"):
        assert part in shown


def test_a_pipe_stays_silent():
    assert draw(terminal=False) == ""
