"""What a cell shows while a turn goes on."""

from typing import Any

from jupyter_pernix.kernel.ipython.view import CellView


class Screen:
    """Keeps what each display shows now, in the order of first showing."""

    def __init__(self) -> None:
        self.displays: list[dict[str, Any]] = []
        self._by_id: dict[str, int] = {}

    def publish(self, data: dict[str, Any], metadata: dict[str, Any] | None = None, **options: Any) -> None:
        display_id = options.get("transient", {}).get("display_id")
        if options.get("update"):
            self.displays[self._by_id[display_id]] = data
            return
        if display_id:
            self._by_id[display_id] = len(self.displays)
        self.displays.append(data)

    @property
    def plain(self) -> list[str]:
        return [data["text/plain"] for data in self.displays]


def told(view: CellView) -> None:
    view.delta("s1", 0, "I look")
    view.flush()
    view.delta("s1", 6, " first.")
    view.message("s1", "I look first.")
    view.call("c1", "Read a.py")
    view.call("c2", "Run code")
    view.close_segment()
    view.outputs([{"output_type": "stream", "name": "stdout", "text": "42\n"}])
    view.call_changed("c2", "completed", 0.25)
    view.call_changed("c1", "failed", 0.1, "no such file\nreally")
    view.message("s2", "It is 42.")
    view.flush()


def test_text_cards_and_outputs_stand_in_their_order_and_are_updated_in_place():
    screen = Screen()
    told(CellView(screen, live=True))
    assert screen.plain == [
        "I look first.\n\n✗ Read a.py 0.1 s · no such file…\n✓ Run code 0.2 s",
        "42",
        "It is 42.",
    ]


def test_a_front_end_without_updates_sees_each_segment_once():
    screen = Screen()
    view = CellView(screen, live=False)
    view.message("s1", "one")
    view.close_segment()
    view.message("s2", "two")
    view.close_segment()
    assert screen.plain == ["one", "two"]


def test_nothing_of_the_text_is_live_in_the_markdown_form():
    screen = Screen()
    view = CellView(screen, live=True)
    view.message("s1", "<script>x</script>")
    view.call("c1", "rm <img src=x onerror=y>")
    view.note("<b>why</b>")
    view.flush()
    assert "<script" not in screen.displays[0]["text/markdown"]
    assert "<img" not in screen.displays[0]["text/markdown"]
    assert "<b>" not in screen.displays[0]["text/markdown"]


def test_a_question_shows_the_code_as_it_is():
    screen = Screen()
    view = CellView(screen, live=True)
    view.question("Run this code?", "for x in y:\n    print('```<b>')")
    view.flush()
    assert screen.plain == ["Run this code?\n\n    for x in y:\n        print('```<b>')"]
    assert screen.displays[0]["text/markdown"].endswith("````\nfor x in y:\n    print('```<b>')\n````")


def test_what_the_host_says_against_an_answer_stands_before_it() -> None:
    screen = Screen()
    view = CellView(screen, live=True)
    view.delta("s1", 0, "Done.")
    view.flush()
    view.message("s1", "Done.", ["No file\nwas <b>changed</b>."])
    view.flush()
    assert screen.plain == ["! No file was <b>changed</b>.\nDone."]
    markdown = screen.displays[0]["text/markdown"]
    assert markdown.index("Correction") < markdown.index("Done.")
    assert "<b>" not in markdown


def test_a_plan_is_shown_once_and_brought_up_to_date() -> None:
    screen = Screen()
    view = CellView(screen, live=True)
    view.plan("Count, then mend", [("Count", "pending"), ("Mend", "pending")])
    view.flush()
    view.plan("Count, then mend", [("Count", "completed"), ("Mend", "in_progress")])
    view.flush()
    assert screen.plain == ["Plan: Count, then mend\n  ✓ Count\n  ▸ Mend"]
