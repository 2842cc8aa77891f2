"""From a packet capture to TCP streams of which every byte has the instant at which it could be read.

Owns the pcap format and TCP reassembly. Knows nothing of HTTP. Shares no code with Kneepoint, on purpose: it is the
second opinion. Instants are nanoseconds since the Unix epoch, as the kernel stamped the packets.
"""

import bisect
import struct


class CaptureError(Exception):
    """The capture cannot be relied on; the text says why."""


# First four bytes of a pcap file: byte order, and nanoseconds per unit of the fractional part.
MAGICS = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
ETHERNET = 1
FIN, SYN, RST, ACK = 0x01, 0x02, 0x04, 0x10
SEQUENCE_SPACE = 1 << 32


def packets(file):
    """Yields `(instant_ns, bytes)` for every packet of a pcap file. A file cut inside a packet is refused."""
    head = file.read(24)
    if len(head) < 24 or head[:4] not in MAGICS:
        raise CaptureError("not a pcap file")
    order, unit = MAGICS[head[:4]]
    link = struct.unpack(order + "I", head[20:24])[0] & 0x0FFFFFFF
    if link != ETHERNET:
        raise CaptureError(f"link type {link} instead of Ethernet, which `lo` has")
    while header := file.read(16):
        if len(header) < 16:
            raise CaptureError("the file ends inside a packet header")
        seconds, fraction, captured, length = struct.unpack(order + "IIII", header)
        data = file.read(captured)
        if len(data) < captured:
            raise CaptureError("the file ends inside a packet")
        if captured < length:
            raise CaptureError(f"a packet of {length} bytes was cut to {captured}; capture with `-s 0`")
        yield seconds * 1_000_000_000 + fraction * unit, data


def tcp_segment(frame):
    """`(source, destination, sequence, flags, payload)` of an Ethernet frame, or None if it holds no TCP.

    Source and destination are `(address bytes, port)`. Checksums are not looked at: on loopback they are not filled in.
    """
    kind = struct.unpack("!H", frame[12:14])[0]
    ip = frame[14:]
    if kind == 0x0800:
        header = (ip[0] & 0x0F) * 4
        length, fragment, protocol = struct.unpack("!H2xHxB", ip[2:10])
        if protocol != 6:
            return None
        if fragment & 0x3FFF:
            raise CaptureError("a fragmented IP packet")
        addresses = ip[12:16], ip[16:20]
        # Frames may be padded to 60 bytes, so the packet's own length counts.
        tcp = ip[header : length or None]
    elif kind == 0x86DD:
        length, protocol = struct.unpack("!HB", ip[4:7])
        if protocol != 6:
            return None
        addresses = ip[8:24], ip[24:40]
        tcp = ip[40 : 40 + length] if length else ip[40:]
    else:
        return None
    source, destination, sequence = struct.unpack("!HHI", tcp[:8])
    payload = tcp[(tcp[12] >> 4) * 4 :]
    return (addresses[0], source), (addresses[1], destination), sequence, tcp[13], payload


class Stream:
    """One direction of a connection: its bytes in order, and when each of them could first be read.

    A byte can be read once it and every byte before it have arrived, so a segment that comes early gets the instant of
    the one that fills the hole before it. What arrives twice counts when it came first.
    """

    def __init__(self, first_sequence):
        self.data = bytearray()
        self.closed_at = None
        self._first = first_sequence
        self._ends = []  # Offsets at which a run of bytes with one instant ends, ascending.
        self._instants = []
        self._early = []  # (offset, payload), beyond a hole.
        self._end = None  # Offset at which the sender closed its side.

    def segment(self, at, sequence, payload, fin):
        """Takes one segment, in whatever order it comes."""
        # The distance to what is expected, as a signed 32-bit number: sequence numbers wrap, streams do not.
        expected = (self._first + len(self.data)) % SEQUENCE_SPACE
        distance = (sequence - expected + SEQUENCE_SPACE // 2) % SEQUENCE_SPACE - SEQUENCE_SPACE // 2
        offset = len(self.data) + distance
        if fin:
            self._end = offset + len(payload)
        if payload:
            self._early.append((offset, payload))
            self._early.sort(key=lambda part: part[0])
            self._deliver(at)
        if self._end is not None and len(self.data) >= self._end and self.closed_at is None:
            self.closed_at = at

    def reset(self, at):
        """The connection was reset."""
        self.closed_at = self.closed_at or at

    def _deliver(self, at):
        before = len(self.data)
        while self._early and self._early[0][0] <= len(self.data):
            offset, payload = self._early.pop(0)
            self.data += payload[len(self.data) - offset :]
        if len(self.data) > before:
            self._ends.append(len(self.data))
            self._instants.append(at)

    @property
    def holes(self):
        """True if bytes beyond a hole never became readable."""
        return bool(self._early)

    def instant(self, offset):
        """When the byte at this offset could be read."""
        return self._instants[bisect.bisect_right(self._ends, offset)]


class Connection:
    """The two directions of one TCP connection to the server."""

    def __init__(self, client_sequence):
        self.to_server = Stream((client_sequence + 1) % SEQUENCE_SPACE)
        self.to_client = None


def connections(file, port):
    """Every TCP connection to `port`, in the order of their SYN packets. One whose SYN is missing is refused."""
    found, current, isn = [], {}, {}
    for at, frame in packets(file):
        segment = tcp_segment(frame)
        if segment is None:
            continue
        source, destination, sequence, flags, payload = segment
        if destination[1] == port:
            key, from_client = (source, destination), True
        elif source[1] == port:
            key, from_client = (destination, source), False
        else:
            continue
        if from_client and flags & SYN and not flags & ACK:
            # A repeated SYN opens nothing; one with another number is a new connection on a used port.
            if key not in current or isn[key] != sequence:
                current[key], isn[key] = Connection(sequence), sequence
                found.append(current[key])
            continue
        connection = current.get(key)
        if connection is None:
            raise CaptureError(f"a connection from port {key[0][1]} had begun before the capture did")
        if flags & SYN:
            if connection.to_client is None:
                connection.to_client = Stream((sequence + 1) % SEQUENCE_SPACE)
            continue
        stream = connection.to_server if from_client else connection.to_client
        if flags & RST:
            for side in (connection.to_server, connection.to_client):
                if side is not None:
                    side.reset(at)
        elif stream is None:
            raise CaptureError("data from the server before its SYN")
        else:
            stream.segment(at, sequence, payload, bool(flags & FIN))
    for connection in found:
        for side in (connection.to_server, connection.to_client):
            if side is not None and side.holes:
                raise CaptureError("bytes are missing inside a connection: packets were lost by the capture")
    return found
