"""Channel: messages over a socket, each with its length before it.

One call of the system sends a message, and mostly one receives it: pages are many.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import socket

_LENGTH = struct.Struct("!Q")
_READ_BYTES = 1 << 16


class Channel:
    """One end."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._received = bytearray()

    def fileno(self) -> int:
        """Of the socket."""
        return self._socket.fileno()

    def send(self, *parts: bytes) -> None:
        """Send a message, given in parts so that nobody joins large ones.

        :raises OSError: the other end is gone, or has stopped reading for too long.
        """
        length = sum(map(len, parts))
        parts = (_LENGTH.pack(length), *parts)
        sent = self._socket.sendmsg(parts)
        if sent < _LENGTH.size + length:
            self._socket.sendall(memoryview(b"".join(parts))[sent:])

    def receive(self) -> bytes:
        """The next message. After BlockingIOError it may be called again: nothing is lost.

        :raises EOFError: the other end is gone.
        :raises BlockingIOError: nothing came in the time that the socket waits.
        """
        received = self._received
        while True:
            if len(received) >= _LENGTH.size:
                end = _LENGTH.size + _LENGTH.unpack_from(received)[0]
                if len(received) >= end:
                    message = bytes(received[_LENGTH.size : end])
                    del received[:end]
                    return message
                missing = end - len(received)
            else:
                missing = 0
            part = self._socket.recv(max(missing, _READ_BYTES))
            if not part:
                raise EOFError
            received += part

    @property
    def has_message(self) -> bool:
        """Whether one came together with an earlier one: the socket says nothing of it."""
        received = self._received
        size = len(received) - _LENGTH.size
        return size >= 0 and size >= _LENGTH.unpack_from(received)[0]

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()
