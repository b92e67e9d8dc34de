"""One conversation as an action model is shown it: its own actions and texts as assistant messages, their results as user messages.
A fold over the messages; what it has made is never changed, it grows at its end only.
"""

from collections.abc import Sequence
from typing import Any, cast

import msgspec

from ...records import JSON, Picture
from .action_prompt import (
    action_text,
    example_messages,
    exchange,
    is_prose,
    request_of,
    shown_result,
    system_text,
    text_question,
)
from .arguments import Unreadable, read_objects
from .calls import as_object, new_wire_id
from .conversation import PICTURE_BYTES, Conversation, content_parts
from .history import MISSING_RESULT
from .parts import ToolSpec

SAME_RESULT = "(the same result as before; use it, or finish)"

_SHORT_RESULT = 80
_encode = msgspec.json.Encoder().encode


class ActionHistory:
    """``encoded`` is the messages as JSON, without the enclosing brackets. ``longest_result``: characters of a result that are shown.
    ``sees``: pictures are shown too."""

    def __init__(self, tools: tuple[ToolSpec, ...], *, longest_result: int, sees: bool = False) -> None:
        self.encoded = bytearray()
        self.has_pictures = False
        self._sees = sees
        self._beyond = 0
        """Bytes of the pictures that are more than they count for."""
        self.sent = 0
        """How many bytes of it the last request had."""
        self.stumbled = False
        """The last text that was asked for did not come: asked for in the same way it would not come again."""
        self._tools = tools
        self._longest_result = longest_result
        self._seen = 0
        self._request = ""
        self._pending: dict[str, tuple[str, JSON]] = {}
        self._actions: list[tuple[str, str]] = []
        self._results: set[str] = set()

    @property
    def size(self) -> int:
        """Bytes; each picture counts ``PICTURE_BYTES``."""
        return len(self.encoded) - self._beyond

    @property
    def repeated(self) -> str:
        """The tool of the last two actions if these were the same, else "": left to itself a model at temperature 0 goes on with it."""
        same = len(self._actions) > 1 and self._actions[-1] == self._actions[-2]
        return self._actions[-1][0] if same else ""

    def extend(self, conversation: Conversation) -> None:
        """Take what has been said since the last time."""
        for at, message in enumerate(conversation.messages[self._seen :], self._seen):
            self._take(message, conversation.shown.get(at, ()) if self._sees else ())
        self._seen = len(conversation.messages)

    def with_choice(self, tool: ToolSpec, arguments: JSON) -> bytes:
        """These messages, the action that was just chosen, and the question for its text."""
        more = [
            ("assistant", action_text(tool.name, arguments)),
            ("user", text_question(tool, arguments, request=self._request)),
        ]
        return bytes(self.encoded) + b"".join(b"," + _encode({"role": role, "content": text}) for role, text in more)

    # ---- taking messages ------------------------------------------------------------------------------------------------

    def _take(self, message: JSON, pictures: Sequence[Picture]) -> None:
        role, content = message.get("role"), _plain(message.get("content"))
        if role == "tool":
            name, arguments = self._pending.pop(str(message.get("tool_call_id")), ("", {}))
            if name:
                self._add_action(name, arguments, content, pictures)
            return
        for name, arguments in self._pending.values():
            self._add_action(name, arguments, MISSING_RESULT)
        self._pending = {}
        if role == "assistant":
            self._take_assistant(message, content)
        elif role == "system" and not self.encoded:
            self._add("system", system_text(content, self._tools))
            self._add_all(example_messages(self._tools))
        else:
            self._request = request_of(content) or self._request
            self._add("user", content, pictures)

    def _take_assistant(self, message: JSON, content: str) -> None:
        calls = cast(list[Any], message.get("tool_calls") or [])
        for item in calls:
            function = as_object(as_object(item).get("function"))
            try:
                (arguments,) = read_objects(str(function.get("arguments") or ""))
            except (Unreadable, ValueError):
                arguments = {}
            self._pending[str(as_object(item).get("id") or new_wire_id())] = (str(function.get("name", "")), arguments)
        if not calls and content:
            finish = next((tool for tool in self._tools if is_prose(tool)), None)
            spoken = exchange(finish, {}, content, request=self._request) if finish else [("assistant", content)]
            self._add_all(spoken)

    def _add_action(self, name: str, arguments: JSON, result: str, pictures: Sequence[Picture] = ()) -> None:
        tool = next((tool for tool in self._tools if tool.name == name), None)
        text_field = tool.text_field if tool else None
        if tool is not None and text_field is not None and text_field in arguments:
            small = {key: value for key, value in arguments.items() if key != text_field}
            self._add_all(exchange(tool, small, str(arguments[text_field]), request=self._request))
        else:
            self._add("assistant", action_text(name, arguments))
        self._actions.append((name, action_text(name, arguments)))
        known = len(result) > _SHORT_RESULT and result in self._results
        shown = SAME_RESULT if known else shown_result(name, result, limit=self._longest_result)
        self._results.add(result)
        self._add("user", f"Result of {name}:\n{shown}", pictures)

    def _add(self, role: str, content: str, pictures: Sequence[Picture] = ()) -> None:
        if self.encoded:
            self.encoded += b","
        message = _encode({"role": role, "content": content_parts(content, pictures) if pictures else content})
        if pictures:
            self.has_pictures = True
            plain = len(_encode({"role": role, "content": content}))
            self._beyond += len(message) - plain - PICTURE_BYTES * len(pictures)
        self.encoded += message

    def _add_all(self, messages: Sequence[tuple[str, str]]) -> None:
        for role, content in messages:
            self._add(role, content)


def _plain(content: object) -> str:
    if isinstance(content, str):
        return content
    pieces = cast(list[Any], content) if isinstance(content, list) else []
    return "".join(str(as_object(piece).get("text", "")) for piece in pieces)
