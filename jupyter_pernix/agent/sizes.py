"""How much of a model's context the next request will fill: guessed from its bytes, then calibrated by what the endpoint reports."""

from collections.abc import Iterable, Sequence

import msgspec

from ..events import StepFinished, StepStarted, Stored
from ..ids import StepId
from ..records import Usage
from .model.conversation import Conversation
from .model.estimate import TokenEstimate
from .model.parts import Model, ToolSpec

_encode = msgspec.json.Encoder().encode


class Sizes:
    """The estimates of one session, one for each model. ``log`` calibrates them by what was reported before."""

    def __init__(self, specs: Sequence[ToolSpec], log: Iterable[Stored] = ()) -> None:
        self._specs = sum(len(_encode(spec.parameters)) + len(spec.description) + len(spec.name) + 60 for spec in specs)
        self._estimates: dict[tuple[str, str], TokenEstimate] = {}
        begun: dict[StepId, StepStarted] = {}
        for stored in log:
            event = stored.event
            if isinstance(event, StepStarted) and event.purpose == "act":
                begun[event.step_id] = event
            elif isinstance(event, StepFinished) and event.step_id in begun:
                step = begun.pop(event.step_id)
                self._of(step.endpoint, step.model).observe(step.prompt_bytes + self._specs, event.usage)

    def tokens(self, model: Model, conversation: Conversation) -> int:
        """Of the next request with all tools."""
        return self.of_bytes(model, conversation.size if model.sees else conversation.text_size)

    def of_bytes(self, model: Model, size: int) -> int:
        """The same for a conversation of ``size`` bytes."""
        return self._of(model.endpoint, model.name).tokens(size + self._with_tools(model))

    def bytes_of(self, model: Model, tokens: int) -> int:
        """Bytes of a conversation that has so many tokens, tools included."""
        return max(0, self._of(model.endpoint, model.name).size(tokens) - self._with_tools(model))

    def text_bytes(self, model: Model, tokens: int) -> int:
        """Bytes of a text of so many tokens."""
        return self._of(model.endpoint, model.name).size(tokens)

    def observe(self, model: Model, prompt_bytes: int, usage: Usage) -> None:
        self._of(model.endpoint, model.name).observe(prompt_bytes + self._with_tools(model), usage)

    def overflowed(self, model: Model, prompt_bytes: int, limit: int) -> None:
        """The endpoint refused a conversation of ``prompt_bytes`` as more than ``limit`` tokens."""
        self._of(model.endpoint, model.name).overflowed(prompt_bytes + self._with_tools(model), limit)

    def _with_tools(self, model: Model) -> int:
        return 0 if model.protocol == "chat" else self._specs

    def _of(self, endpoint: str, name: str) -> TokenEstimate:
        return self._estimates.setdefault((endpoint, name), TokenEstimate())
