"""However a file is cut, its rows are those that a parser finds from the beginning."""

import gzip
import io
import threading
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fuselearn.datasets import DatasetError, TableStream, Wanted, segments
from fuselearn.datasets.segments import NotCutError, cut_rows

numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr), st.sampled_from(["", "NA", "?", "7", "-3e2"])
)
quoted = st.text('a"\n\r,é ', max_size=5).map(lambda text: '"' + text.replace('"', '""') + '"')
odd = st.one_of(st.sampled_from(["inf", " 7", "x", '"', '5" pipe', "\ufeff", "\u2028"]), st.text(max_size=3))
ends = st.sampled_from(["\n"] * 20 + ["\r\n"] * 5 + ["\n\n", "\r", ""])


def lines(cells, least=2, most=2):
    cells = st.lists(cells, min_size=least, max_size=most)
    return st.builds(lambda cells, end: ",".join(cells) + end, cells, ends)


headers = st.sampled_from(["a,b\n"] * 5 + ["a,b\r\n", "\ufeffa,b\n", "\na,b\n", '"a",b\n', "a,b\r"])
plain_lines = st.one_of(lines(numbers), st.builds("{},{}\n".format, numbers, quoted))
any_line = st.one_of(plain_lines, plain_lines, lines(st.one_of(numbers, quoted, odd), 1, 3))
texts = st.one_of(
    *(st.lists(line, min_size=3, max_size=20).map("".join) for line in (lines(numbers), plain_lines, any_line))
)
chosen = st.sampled_from(
    [
        Wanted(["a", "b"]),
        Wanted(["b", "a"]),
        Wanted(["b"]),
        Wanted(["a"]),
        Wanted(["b"], ["a"]),
        Wanted(["a"], [], ["b"]),
    ]
)


def read(path, wanted, segment_bytes):
    """Give all rows of a file, or the sentence that says why there are none."""
    with mock.patch.object(segments, "SEGMENT_BYTES", segment_bytes):
        try:
            blocks = list(TableStream(path, wanted, block_rows=3))
        except DatasetError as error:
            return str(error)
    assert all(len(block) <= 3 for block in blocks)
    return pd.concat(blocks, ignore_index=True) if blocks else None


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("segments") / "table.csv"


@given(headers, texts, chosen, st.sampled_from([3, 8, 20, 30, 40, 60, 100]))
@example("a,b\n", '1,"x\ny"\n2,z\n', Wanted(["a"]), 8)
@example("a,b\n", "1,2\n3,4\n5,6,7\n", Wanted(["a", "b"]), 4)
@example("a,b\n", "1,2\n3,4\n\ufeff5,6\n7,8\n", Wanted(["a"]), 4)
@example("a,b\n", "1,2\n3,x\n", Wanted(["a", "b"]), 4)
@example("a,b\n", "\n" * 20, Wanted(["a", "b"]), 4)
def test_any_text_gives_the_same_rows_or_the_same_error(path, header, rows, wanted, segment_bytes):
    path.write_bytes((header + rows).encode("utf-8", "surrogatepass"))
    expected, found = read(path, wanted, 10**9), read(path, wanted, segment_bytes)
    if isinstance(expected, pd.DataFrame) and not wanted.others:
        pd.testing.assert_frame_equal(found, expected, check_exact=True)
    elif isinstance(expected, pd.DataFrame):  # numbers or text as the cells of a block are
        pd.testing.assert_frame_equal(found[wanted.numbers], expected[wanted.numbers], check_exact=True)
        assert len(found) == len(expected)
    else:
        assert found == expected


def test_pieces_end_with_rows_and_make_up_the_text():
    text = b"".join(b'%d,"two\nlines"\r\n' % k for k in range(50))
    pieces = list(cut_rows(io.BytesIO(text), 30))
    assert len(pieces) > 10
    assert b"".join(pieces) == text
    assert all(piece.endswith(b'lines"\r\n') for piece in pieces)


def test_text_without_line_ends_is_not_held_in_memory():
    file = io.BytesIO(b"1,2\r" * 1000)
    with pytest.raises(NotCutError):
        list(cut_rows(file, 10))
    assert file.tell() < 100


def test_a_quote_that_stays_open_is_cut_all_the_same():
    pieces = list(cut_rows(io.BytesIO(b'5" pipe,1\n' + b"rod,2\n" * 100), 20))
    assert max(map(len, pieces)) <= 60


@pytest.fixture
def many_rows(tmp_path):
    """Make a file of 3,000 rows and give its values, too."""
    values = np.random.default_rng(0).normal(size=(3000, 2))
    frame = pd.DataFrame(values, columns=["a", "b"])
    frame.to_csv(tmp_path / "many.csv", index=False)
    return tmp_path / "many.csv", values


def test_gzipped_files_are_cut_too(many_rows, tmp_path):
    path, values = many_rows
    packed = tmp_path / "many.csv.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    np.testing.assert_array_equal(read(packed, Wanted(["a", "b"]), 5000), values)


def test_reading_may_stop_early_and_leaves_no_thread(many_rows):
    path, values = many_rows
    before = threading.active_count()
    with mock.patch.object(segments, "SEGMENT_BYTES", 1000):
        blocks = iter(TableStream(path, Wanted(["a", "b"])))
        first = next(blocks)
        assert threading.active_count() > before
        blocks.close()
    np.testing.assert_array_equal(first, values[: len(first)])
    assert threading.active_count() == before


def test_few_segments_are_in_memory_at_once(many_rows):
    path, _ = many_rows
    parser = segments.SegmentParser(["a", "b"], ["a", "b"], {"sep": ",", "na_values": [""]})
    cut = []
    with mock.patch.object(segments, "cut_rows", lambda *args: (cut.append(s) or s for s in cut_rows(*args))):
        frames = segments.read_segments(path, parser, 2, 1000)
        for n_given, _ in enumerate(frames, start=1):
            assert len(cut) <= n_given + 2
    assert n_given > 50


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("1.5,wide", "column 'b' holds 'wide' in line 2503, where the model expects a number"),
        ("1.5,2.5,3.5", "Expected 2 fields in line 2503, saw 3"),
    ],
)
def test_a_mistake_is_named_with_its_line_in_the_file(many_rows, line, sentence):
    path, _ = many_rows
    lines = path.read_text().splitlines()
    lines[2502] = line
    path.write_text("\n".join(lines))
    assert sentence in read(path, Wanted(["a", "b"]), 1000)


def test_rows_before_an_error_are_given_once(many_rows):
    path, values = many_rows
    lines = path.read_text().splitlines()
    lines[2501] = "1.5,wide"
    path.write_text("\n".join(lines))
    given = []

    def read_on():
        for block in TableStream(path, Wanted(["a", "b"]), block_rows=100):
            given.append(block)  # noqa: PERF402

    with mock.patch.object(segments, "SEGMENT_BYTES", 1000), pytest.raises(DatasetError):
        read_on()
    np.testing.assert_array_equal(pd.concat(given), values[:2500])
