"""Messages arrive whole, whatever the pieces that the system makes of them."""

from __future__ import annotations

import socket
import struct
import threading

import pytest

from scrapy_simhash.workers.channel import Channel

MIB = 1 << 20


@pytest.fixture
def sockets():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


@pytest.mark.parametrize("sizes", [[0], [1, 0, 5], [65536, 3], [5 * MIB, 7]])
def test_messages_arrive_as_they_were_sent(sockets, sizes):
    ours, theirs = map(Channel, sockets)
    messages = [bytes([number + 1]) * size for number, size in enumerate(sizes)]

    def send():
        for message in messages:
            ours.send(message)

    sender = threading.Thread(target=send)
    sender.start()
    assert [theirs.receive() for _ in messages] == messages
    sender.join()


def test_parts_of_a_message_arrive_as_one(sockets):
    ours, theirs = map(Channel, sockets)
    sender = threading.Thread(target=ours.send, args=(b"a", b"", b"b" * MIB, b"c"))
    sender.start()
    assert theirs.receive() == b"a" + b"b" * MIB + b"c"
    sender.join()


def test_a_message_in_single_bytes(sockets):
    ours, theirs = sockets
    channel = Channel(theirs)
    theirs.settimeout(0)
    content = struct.pack("!Q", 3) + b"abc"
    for number in range(len(content)):
        with pytest.raises(BlockingIOError):
            channel.receive()
        ours.sendall(content[number : number + 1])
    assert channel.receive() == b"abc"


@pytest.mark.parametrize("content", [b"", b"\0\0\0", struct.pack("!Q", 3) + b"ab"])
def test_the_end_in_the_middle_of_a_message(sockets, content):
    ours, theirs = sockets
    ours.sendall(content)
    ours.close()
    with pytest.raises(EOFError):
        Channel(theirs).receive()


def test_the_other_end_is_gone(sockets):
    ours, theirs = sockets
    theirs.close()
    with pytest.raises(OSError, match=r"pipe|reset"):
        Channel(ours).send(b"x" * MIB)


def test_a_receiver_that_has_stopped_reading(sockets):
    ours, _ = sockets
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 0, 1000))
    with pytest.raises(BlockingIOError):
        Channel(ours).send(b"x" * 16 * MIB)


def test_what_waits_in_an_all_but_full_buffer(sockets):
    """The header may be cut as well."""
    ours, theirs = sockets
    ours.setblocking(False)
    filled = 0
    with pytest.raises(BlockingIOError):
        while True:
            filled += ours.send(b"f")
    ours.setblocking(True)
    sender = threading.Thread(target=Channel(ours).send, args=(b"whole" * MIB,))
    sender.start()
    assert theirs.recv(filled, socket.MSG_WAITALL) == b"f" * filled
    assert Channel(theirs).receive() == b"whole" * MIB
    sender.join()
