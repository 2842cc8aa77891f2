"""From TCP streams to requests and answers, and to the instants at which tokens could be read.

Owns HTTP/1.1 framing, server-sent events and the meaning of OpenAI-compatible payloads. Shares no code with Kneepoint.
"""

import json

from capture import CaptureError


class BrokenOff(CaptureError):
    """The stream ends inside a message."""


class Cursor:
    """A place in a stream, for reading HTTP from it."""

    def __init__(self, stream):
        self.stream = stream
        self.at = 0

    @property
    def exhausted(self):
        return self.stream is None or self.at >= len(self.stream.data)

    def until(self, mark):
        """The bytes up to `mark`, which is passed over."""
        end = self.stream.data.find(mark, self.at)
        if end < 0:
            raise BrokenOff(f"the stream ends before {mark!r}")
        text = bytes(self.stream.data[self.at : end])
        self.at = end + len(mark)
        return text

    def take(self, n):
        """Where the next n bytes begin and end."""
        if self.at + n > len(self.stream.data):
            raise BrokenOff("the stream ends inside a body")
        self.at += n
        return self.at - n, self.at


class Body:
    """A decoded body: its bytes, and where in the stream each of them lay."""

    def __init__(self, stream):
        self.stream = stream
        self.data = bytearray()
        self._pieces = []  # (offset in the body, offset in the stream), ascending.
        self.complete_at = None

    def add(self, start, end):
        self._pieces.append((len(self.data), start))
        self.data += self.stream.data[start:end]

    def instants(self, offsets):
        """When the bytes at these ascending offsets could be read."""
        piece = 0
        for offset in offsets:
            while piece + 1 < len(self._pieces) and self._pieces[piece + 1][0] <= offset:
                piece += 1
            inside, start = self._pieces[piece]
            yield self.stream.instant(start + offset - inside)


def read_head(cursor):
    """Start line and headers (lower-case names) of the message at the cursor."""
    lines = cursor.until(b"\r\n\r\n").decode("latin-1").split("\r\n")
    headers = {}
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if not colon:
            raise CaptureError(f"`{line}` is no header")
        headers[name.strip().lower()] = value.strip()
    return lines[0], headers


def read_body(cursor, headers, body, without_length):
    """Fills the body that follows a head; one that breaks off keeps what came of it.

    `without_length`: "empty", or "close" where it lasts until the sender closes.
    """
    if "chunked" in headers.get("transfer-encoding", "").lower():
        while size := int(cursor.until(b"\r\n").split(b";")[0], 16):
            body.add(*cursor.take(size))
            if cursor.until(b"\r\n"):
                raise CaptureError("a chunk is longer than it says")
        while cursor.until(b"\r\n"):
            pass  # Trailer fields.
        body.complete_at = cursor.stream.instant(cursor.at - 1)
    elif "content-length" in headers or without_length == "empty":
        body.add(*cursor.take(int(headers.get("content-length", 0))))
        body.complete_at = cursor.stream.instant(cursor.at - 1)
    else:
        body.add(*cursor.take(len(cursor.stream.data) - cursor.at))
        body.complete_at = cursor.stream.closed_at


class Exchange:
    """One request and its answer, as the packets show them.

    `sent`: instant of the packet with the request's first byte. `first_byte`: of the answer's. `closed`: of the last
    byte of its framing. `tokens`: instants at which the token-bearing events became complete; for an answer that is no
    stream one, the end of its body. `answer` is None for a request that was not answered.
    """

    def __init__(self):
        self.method = self.path = None
        self.sent = self.bytes_sent = None
        self.request = b""
        self.answer = None
        self.reused = False


class Answer:
    """See `Exchange`."""

    def __init__(self, status, first_byte, closed, n_bytes, tokens):
        self.status = status
        self.first_byte = first_byte
        self.closed = closed
        self.n_bytes = n_bytes
        self.tokens = tokens


def exchanges(connection):
    """Every exchange of a connection, in order. HTTP/1.1 without pipelining: answers come in the order of requests."""
    found = []
    cursor = Cursor(connection.to_server)
    while not cursor.exhausted:
        exchange, start = Exchange(), cursor.at
        line, headers = read_head(cursor)
        exchange.method, exchange.path = line.split(" ")[:2]
        body = Body(cursor.stream)
        read_body(cursor, headers, body, "empty")
        exchange.request = bytes(body.data)
        exchange.sent = cursor.stream.instant(start)
        exchange.bytes_sent = cursor.at - start
        exchange.reused = bool(found)
        found.append(exchange)
    cursor = Cursor(connection.to_client)
    for exchange in found:
        if cursor.exhausted:
            break
        exchange.answer = read_answer(cursor)
    if not cursor.exhausted:
        raise CaptureError("the server sent bytes that belong to no request")
    return found


def read_answer(cursor):
    """The answer at the cursor. If its framing breaks off, `closed` is None: a client may leave after the end marker."""
    start = cursor.at
    while True:
        line, headers = read_head(cursor)
        status = int(line.split(" ")[1])
        if status >= 200:
            break
    body = Body(cursor.stream)
    try:
        read_body(cursor, headers, body, "empty" if status in (204, 304) else "close")
    except BrokenOff:
        cursor.at = len(cursor.stream.data)
    if "text/event-stream" in headers.get("content-type", ""):
        tokens = stream_tokens(body)
    else:
        whole = status == 200 and body.complete_at is not None
        tokens = [body.complete_at] if whole and bears_tokens(body.data) else []
    first_byte = cursor.stream.instant(start)
    return Answer(status, first_byte, body.complete_at, cursor.at - start, tokens)


def stream_tokens(body):
    """Instants at which the token-bearing events of a stream became complete."""
    return list(body.instants(end for end, data in events(body.data) if bears_tokens(data)))


def events(data):
    """Yields `(offset of the byte that completes it, data)` for every server-sent event, by the HTML standard."""
    fields, at = [], 3 if data[:3] == b"\xef\xbb\xbf" else 0
    while at < len(data):
        ends = [end for end in (data.find(b"\n", at), data.find(b"\r", at)) if end >= 0]
        if not ends:
            return  # An event without its blank line is not dispatched.
        end = min(ends)
        line = bytes(data[at:end])
        if not line:
            if fields:
                yield end, b"\n".join(fields)
            fields = []
        elif line == b"data" or line.startswith(b"data:"):
            value = line[5:]
            fields.append(value[1:] if value.startswith(b" ") else value)
        at = end + (2 if data[end : end + 2] == b"\r\n" else 1)


def bears_tokens(data):
    """True if a payload has non-empty generated output in any channel of any choice."""
    try:
        payload = json.loads(data)
    except ValueError:
        return False
    choices = payload.get("choices") if isinstance(payload, dict) else None
    return any(choice_bears_tokens(choice) for choice in choices or [])


def choice_bears_tokens(choice):
    if choice.get("text"):
        return True
    message = choice.get("delta") or choice.get("message") or {}
    if any(message.get(channel) for channel in ("content", "reasoning_content", "reasoning", "refusal")):
        return True
    functions = [call.get("function") or {} for call in message.get("tool_calls") or []]
    return any(function.get("name") or function.get("arguments") for function in functions)
