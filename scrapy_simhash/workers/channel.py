"""Send and receive messages over a socket, each prefixed with its length.

One system call sends a message, and usually one receives it.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import socket

_LENGTH = struct.Struct("!Q")
_READ_BYTES = 1 << 16


class Channel:
    """One end of a message channel over a connected socket."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._received = bytearray()

    def send(self, *parts: bytes) -> None:
        """Send a message, given in parts so that large parts need not be joined.

        :raises OSError: the other end is closed, or has not read for too long.
        """
        length = sum(map(len, parts))
        parts = (_LENGTH.pack(length), *parts)
        sent = self._socket.sendmsg(parts)
        if sent < _LENGTH.size + length:
            self._socket.sendall(memoryview(b"".join(parts))[sent:])

    def receive(self) -> bytes:
        """Return the next message. After BlockingIOError, call it again: no data is lost.

        :raises EOFError: the other end is closed.
        :raises BlockingIOError: no data arrived within the time-out of the socket.
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

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()
