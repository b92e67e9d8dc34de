"""Which pictures of outputs a model can be shown."""

import base64
from typing import Any

from jupyter_pernix.agent.tools.pictures import (
    LONGEST_PICTURE,
    LONGEST_PICTURES,
    MOST_PICTURES,
    pictures_note,
    pictures_of,
)
from jupyter_pernix.records import Picture

PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)
JPEG = b"\xff\xd8\xff\xe0" + bytes(40)


def shown(mime: str, content: bytes, **more: str) -> dict[str, Any]:
    data = {mime: base64.b64encode(content).decode(), **more}
    return {"output_type": "display_data", "data": data, "metadata": {}}


def picture(mime: str, content: bytes) -> Picture:
    return Picture(mime=mime, data=base64.b64encode(content).decode())


def test_pictures_come_in_the_order_of_their_outputs() -> None:
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": "hello"},
        shown("image/png", PNG, **{"text/plain": "<Figure>"}),
        shown("image/jpeg", JPEG),
        shown("image/gif", b"GIF89a" + bytes(9)),
        shown("image/webp", b"RIFF\0\0\0\0WEBPVP8 "),
    ]
    assert [each.mime for each in pictures_of(outputs)] == ["image/png", "image/jpeg", "image/gif", "image/webp"]
    assert pictures_note(outputs) == ""


def test_a_file_of_notebook_lines_is_joined_and_line_feeds_are_taken_out() -> None:
    text = base64.encodebytes(PNG).decode()
    output = {"output_type": "display_data", "data": {"image/png": text.splitlines(keepends=True)}}
    assert pictures_of([output]) == (picture("image/png", PNG),)


def test_a_picture_is_what_its_bytes_say_and_not_what_it_is_called() -> None:
    assert pictures_of([shown("image/png", JPEG)]) == (picture("image/jpeg", JPEG),)


def test_what_an_endpoint_would_refuse_is_left_out_and_told() -> None:
    outputs: list[dict[str, Any]] = [
        {"output_type": "display_data", "data": {"image/png": "not base64!"}},
        {"output_type": "display_data", "data": {"image/png": base64.b64encode(PNG).decode()[:-3]}},
        {"output_type": "display_data", "data": {"image/svg+xml": "<svg/>"}},
        {"output_type": "display_data", "data": {"image/png": None}},
        {"output_type": "display_data", "data": "damaged"},
        shown("image/png", PNG + bytes(LONGEST_PICTURE)),
        shown("image/png", PNG),
    ]
    assert pictures_of(outputs) == (picture("image/png", PNG),)
    assert pictures_note(outputs).startswith("(5 of 6 pictures are shown to the user alone")


def test_of_many_pictures_the_last_ones_are_shown() -> None:
    outputs = [shown("image/png", PNG + bytes([number])) for number in range(9)]
    assert pictures_of(outputs) == tuple(
        picture("image/png", PNG + bytes([number])) for number in range(9 - MOST_PICTURES, 9)
    )
    assert pictures_note(outputs).startswith("(5 of 9 pictures")


def test_one_output_is_one_picture() -> None:
    output = shown("image/png", PNG, **{"image/jpeg": base64.b64encode(JPEG).decode()})
    assert pictures_of([output]) == (picture("image/png", PNG),)


def test_large_pictures_are_fewer_and_the_rest_is_told() -> None:
    large = PNG + bytes(700_000)
    outputs = [shown("image/png", large) for _ in range(4)]
    assert sum(len(each.data) for each in pictures_of(outputs)) <= LONGEST_PICTURES
    assert len(pictures_of(outputs)) == 2
    assert "2 of 4 pictures are shown to the user alone" in pictures_note(outputs)
