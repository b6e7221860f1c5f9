"""What another process says through a pipe, line by line, none waited for beyond a deadline."""

import os
from collections import deque
from selectors import EVENT_READ, DefaultSelector
from time import monotonic


class Lines:
    """The lines from a pipe, which nothing else may read meanwhile: it reads ahead."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self._whole: deque[bytes] = deque()
        self._begun = b""

    def next(self, deadline_s: float) -> bytes | None:
        """The next line, without its end; None where the pipe ends, be it within a line.

        What has arrived is read even when `deadline_s`, by the monotonic clock, is over.

        Raises:
            TimeoutError: no line was complete by then.
        """
        while not self._whole:
            # Not `select.select`, which takes no descriptor beyond 1023.
            with DefaultSelector() as selector:
                selector.register(self._pipe, EVENT_READ)
                if not selector.select(max(0.0, deadline_s - monotonic())):
                    raise TimeoutError("no line came in time")
            part = os.read(self._pipe, 65536)
            if not part:
                return None
            *whole, self._begun = (self._begun + part).split(b"\n")
            self._whole.extend(whole)
        return self._whole.popleft()
