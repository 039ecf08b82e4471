"""Send and receive messages over a socket, each prefixed with its length.

One system call usually sends or receives a message.
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
        """Send a message. Its parts are joined only if one system call does not send them all.

        :raises OSError: the other end is closed, or did not read within the socket's SO_SNDTIMEO.
        """
        length = sum(map(len, parts))
        parts = (_LENGTH.pack(length), *parts)
        sent = self._socket.sendmsg(parts)
        if sent < _LENGTH.size + length:
            self._socket.sendall(memoryview(b"".join(parts))[sent:])

    def receive(self) -> bytes:
        """Return the next message. After BlockingIOError, call `receive` again: no data is lost.

        :raises EOFError, ConnectionError: the other end is closed.
        :raises BlockingIOError: no data arrived within the socket's SO_RCVTIMEO.
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
