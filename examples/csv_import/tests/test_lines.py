import io

from csv_import.lines import read_blocks, split_lines


def test_a_line_may_cross_blocks():
    assert list(split_lines(["ab", "c\nd", "e\n"])) == ["abc\n", "de\n"]


def test_an_empty_text_has_no_lines():
    assert list(split_lines(read_blocks(io.StringIO("")))) == []
