"""Tests of the observer on captures made here, byte by byte.  python3 -m unittest discover -s bench/observer"""

import io
import json
import random
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import answers
import capture
import compare

CLIENT, SERVER = (b"\x7f\x00\x00\x01", 40000), (b"\x7f\x00\x00\x01", 8000)
FIN, SYN, RST, ACK = 0x01, 0x02, 0x04, 0x10


def frame(source, destination, sequence, flags, payload=b"", padding=b""):
    """An Ethernet frame with an IPv4 TCP segment."""
    tcp = struct.pack("!HHIIBBHHH", source[1], destination[1], sequence % 2**32, 0, 5 << 4, flags, 65535, 0, 0) + payload
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 0, 0x4000, 64, 6, 0, source[0], destination[0])
    return bytes(12) + b"\x08\x00" + ip + tcp + padding


def frame6(source, destination, sequence, flags, payload=b""):
    """An Ethernet frame with an IPv6 TCP segment."""
    tcp = struct.pack("!HHIIBBHHH", source[1], destination[1], sequence, 0, 5 << 4, flags, 65535, 0, 0) + payload
    return bytes(12) + b"\x86\xdd" + struct.pack("!IHBB16s16s", 6 << 28, len(tcp), 6, 64, source[0], destination[0]) + tcp


def pcap(frames, order="<", nanoseconds=True, cut=0):
    """A capture of `(instant_ns, frame)`."""
    magic, unit = (0xA1B23C4D, 1) if nanoseconds else (0xA1B2C3D4, 1000)
    out = struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 262144, 1)
    for at, data in frames:
        seconds, rest = divmod(at, 1_000_000_000)
        out += struct.pack(order + "IIII", seconds, rest // unit, len(data) - cut, len(data)) + data[: len(data) - cut]
    return io.BytesIO(out)


class Talk:
    """Builds the packets of one connection."""

    def __init__(self, client=CLIENT, client_isn=1000, server_isn=5000):
        self.client, self.isn = client, {True: client_isn + 1, False: server_isn + 1}
        self.frames = [
            (0, frame(client, SERVER, client_isn, SYN)),
            (1, frame(SERVER, client, server_isn, SYN | ACK)),
            (2, frame(client, SERVER, client_isn + 1, ACK)),
        ]
        self.sent = {True: 0, False: 0}

    def at(self, at, payload, up=False, offset=None, flags=ACK):
        """A segment, by default the next bytes of its direction."""
        if offset is None:
            offset = self.sent[up]
            self.sent[up] += len(payload)
        ends = (self.client, SERVER) if up else (SERVER, self.client)
        self.frames.append((at, frame(*ends, self.isn[up] + offset, flags, payload)))

    def connection(self):
        (found,) = capture.connections(pcap(self.frames), 8000)
        return found


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


def event(**delta):
    return b"data: " + json.dumps({"choices": [{"delta": delta}]}).encode() + b"\n\n"


POST = b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 17\r\n\r\n" + b'{"max_tokens": 3}'
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


class Pcap(unittest.TestCase):
    def test_byte_orders_and_resolutions(self):
        for order in "<>":
            self.assertEqual(list(capture.packets(pcap([(1_000_000_123, b"abc")], order))), [(1_000_000_123, b"abc")])
            found = list(capture.packets(pcap([(1_000_009_000, b"abc")], order, nanoseconds=False)))
            self.assertEqual(found, [(1_000_009_000, b"abc")])

    def test_what_is_not_whole_is_refused(self):
        whole = pcap([(0, b"abcdef")]).getvalue()
        for size in set(range(len(whole))) - {24}:
            with self.assertRaises(capture.CaptureError):
                list(capture.packets(io.BytesIO(whole[:size])))
        with self.assertRaisesRegex(capture.CaptureError, "cut to 5"):
            list(capture.packets(pcap([(0, b"abcdef")], cut=1)))

    def test_padding_is_no_payload(self):
        segment = capture.tcp_segment(frame(CLIENT, SERVER, 7, ACK, b"", padding=bytes(6)))
        self.assertEqual(segment, (CLIENT, SERVER, 7, ACK, b""))

    def test_ipv6(self):
        ends = (bytes(15) + b"\x01", 40000), (bytes(15) + b"\x01", 8000)
        self.assertEqual(capture.tcp_segment(frame6(*ends, 7, ACK, b"xy")), (*ends, 7, ACK, b"xy"))

    def test_other_protocols_are_passed_over(self):
        udp = bytearray(frame(CLIENT, SERVER, 0, 0))
        udp[14 + 9] = 17
        self.assertIsNone(capture.tcp_segment(bytes(udp)))
        self.assertIsNone(capture.tcp_segment(bytes(12) + b"\x08\x06" + bytes(28)))


class Reassembly(unittest.TestCase):
    def instants(self, talk):
        stream = talk.connection().to_client
        return bytes(stream.data), [stream.instant(offset) for offset in range(len(stream.data))]

    def test_in_order(self):
        talk = Talk()
        talk.at(10, b"ab")
        talk.at(20, b"c")
        self.assertEqual(self.instants(talk), (b"abc", [10, 10, 20]))

    def test_early_bytes_can_be_read_once_the_hole_is_filled(self):
        talk = Talk()
        talk.at(10, b"ef", offset=4)
        talk.at(20, b"cd", offset=2)
        talk.at(30, b"ab", offset=0)
        self.assertEqual(self.instants(talk), (b"abcdef", [30] * 6))

    def test_the_first_copy_counts(self):
        talk = Talk()
        talk.at(10, b"abcd")
        talk.at(20, b"XX", offset=1)
        talk.at(30, b"XXef", offset=2)
        talk.at(40, b"abcdef", offset=0)
        self.assertEqual(self.instants(talk), (b"abcdef", [10] * 4 + [30] * 2))

    def test_sequence_numbers_wrap(self):
        talk = Talk(server_isn=2**32 - 3)
        talk.at(10, b"ab")
        talk.at(20, b"cdef")
        talk.at(30, b"cd", offset=2)
        self.assertEqual(self.instants(talk), (b"abcdef", [10, 10, 20, 20, 20, 20]))

    def test_any_order_and_overlap_gives_the_same_bytes(self):
        chance = random.Random(1)
        data = bytes(chance.randrange(256) for _ in range(300))
        for _ in range(200):
            pieces = [(at, chance.randint(at + 1, min(at + 40, 300))) for at in range(0, 300, 20)]
            pieces = [(begin, max(end, begin + 20)) for begin, end in pieces]
            pieces += [chance.choice(pieces) for _ in range(5)]
            chance.shuffle(pieces)
            talk = Talk(server_isn=chance.randrange(2**32))
            for at, (begin, end) in enumerate(pieces, 10):
                talk.at(at, data[begin:end], offset=begin)
            found, instants = self.instants(talk)
            # By the definition: a byte can be read once all up to it are there.
            arrived = [min(at for at, (b, e) in enumerate(pieces, 10) if b <= offset < e) for offset in range(300)]
            self.assertEqual(found, data)
            self.assertEqual(instants, [max(arrived[: offset + 1]) for offset in range(300)])

    def test_a_hole_is_refused(self):
        talk = Talk()
        talk.at(10, b"cd", offset=2)
        with self.assertRaisesRegex(capture.CaptureError, "missing"):
            talk.connection()

    def test_a_connection_from_before_is_refused(self):
        talk = Talk()
        talk.at(10, b"ab")
        with self.assertRaisesRegex(capture.CaptureError, "before the capture"):
            capture.connections(pcap(talk.frames[2:]), 8000)

    def test_a_port_may_be_used_again_and_a_syn_repeated(self):
        first, second = Talk(), Talk(client_isn=99000, server_isn=88000)
        first.at(10, b"one")
        second.at(20, b"two")
        frames = first.frames[:1] + first.frames + second.frames
        found = capture.connections(pcap(frames), 8000)
        self.assertEqual([bytes(connection.to_client.data) for connection in found], [b"one", b"two"])

    def test_close_counts_once_all_bytes_are_there(self):
        talk = Talk()
        talk.at(10, b"cd", offset=2, flags=ACK | FIN)
        talk.at(20, b"ab", offset=0)
        self.assertEqual(talk.connection().to_client.closed_at, 20)


class Http(unittest.TestCase):
    def exchange(self, parts):
        talk = Talk()
        talk.at(5, POST, up=True)
        for at, part in parts:
            talk.at(at, part)
        (found,) = answers.exchanges(talk.connection())
        return found

    def test_a_chunk_cut_at_any_byte(self):
        stream = STREAM + chunk(event(role="assistant")) + chunk(event(content="a")) + chunk(event(content="b"))
        whole = stream + chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n"
        # An event is complete with its second line feed, which is followed by the line end of its chunk.
        ends = [len(STREAM + chunk(event(role="assistant")) + chunk(event(content="a"))) - 3, len(stream) - 3]
        for cut in range(1, len(whole)):
            answer = self.exchange([(10, whole[:cut]), (20, whole[cut:])]).answer
            self.assertEqual(answer.tokens, [10 if end < cut else 20 for end in ends], cut)
            self.assertEqual((answer.first_byte, answer.closed, answer.n_bytes), (10, 20, len(whole)))

    def test_every_byte_a_packet(self):
        whole = STREAM + chunk(event(content="a") + event(content="b")[:9]) + chunk(event(content="b")[9:]) + b"0\r\n\r\n"
        answer = self.exchange([(100 + at, whole[at : at + 1]) for at in range(len(whole))]).answer
        first = len(STREAM) + len(b"%x\r\n" % len(event(content="a") + event(content="b")[:9])) + len(event(content="a")) - 1
        self.assertEqual(answer.tokens, [100 + first, 100 + len(whole) - len(b"\r\n0\r\n\r\n") - 1])

    def test_several_events_a_packet_share_its_instant(self):
        part = chunk(event(content="a") + event(content="b"))
        answer = self.exchange([(10, STREAM), (20, part), (30, chunk(event(content="c")) + b"0\r\n\r\n")]).answer
        self.assertEqual((answer.first_byte, answer.tokens), (10, [20, 20, 30]))

    def test_several_requests_on_a_connection(self):
        talk = Talk()
        unary = b'{"choices":[{"message":{"content":"x"}}]}'
        reply = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(unary), unary)
        talk.at(10, POST[:30], up=True)
        talk.at(11, POST[30:], up=True)
        talk.at(20, reply[:-1])
        talk.at(25, reply[-1:])
        talk.at(30, POST, up=True)
        talk.at(35, b"HTTP/1.1 100 Continue\r\n\r\n")
        talk.at(40, STREAM + chunk(event(content="a")) + b"0\r\n\r\n")
        talk.at(50, b"GET /v1/models HTTP/1.1\r\n\r\n", up=True)
        talk.at(60, b"HTTP/1.1 404 Not Found\r\n\r\nnone")
        talk.at(70, b"", flags=ACK | FIN)
        found = answers.exchanges(talk.connection())
        self.assertEqual([exchange.sent for exchange in found], [10, 30, 50])
        self.assertEqual([exchange.reused for exchange in found], [False, True, True])
        self.assertEqual([exchange.bytes_sent for exchange in found], [len(POST), len(POST), 27])
        self.assertEqual([exchange.answer.tokens for exchange in found], [[25], [40], []])
        self.assertEqual((found[2].answer.status, found[2].answer.closed), (404, 70))

    def test_an_answer_may_break_off(self):
        stream = STREAM + chunk(event(content="a")) + b"0\r\n"
        answer = self.exchange([(10, stream)]).answer
        self.assertEqual((answer.tokens, answer.closed, answer.n_bytes), ([10], None, len(stream)))
        answer = self.exchange([(10, b'HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"choices":[{"text":"x"}]}')]).answer
        self.assertEqual((answer.tokens, answer.closed), ([], None))

    def test_an_answer_that_never_began(self):
        self.assertIsNone(self.exchange([]).answer)

    def test_bytes_of_no_request_are_refused(self):
        with self.assertRaisesRegex(capture.CaptureError, "no request"):
            self.exchange([(10, b"HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\n\r\n")])


class Events(unittest.TestCase):
    def test_line_ends_and_fields(self):
        for end in (b"\n", b"\r\n", b"\r"):
            data = end.join([b": comment", b"event: x", b"data:a", b"data: b", b"", b"id: 1", b"", b"data", b"", b"data: c"])
            self.assertEqual([data for _, data in answers.events(data)], [b"a\nb", b""], end)

    def test_a_mark_of_byte_order_is_passed_over(self):
        self.assertEqual(list(answers.events(b"\xef\xbb\xbfdata: a\n\n")), [(11, b"a")])

    def test_what_bears_tokens(self):
        def bears(choice):
            return answers.bears_tokens(json.dumps({"choices": [choice]}))

        call = {"tool_calls": [{"index": 0, "function": {"arguments": "{"}}]}
        for delta in ({"content": " "}, {"reasoning_content": "x"}, {"reasoning": "x"}, {"refusal": "x"}, call):
            self.assertTrue(bears({"delta": delta}), delta)
        self.assertTrue(bears({"text": "x"}) and bears({"message": {"content": "x"}}))
        empty = {"tool_calls": [{"index": 0, "id": "1", "function": {"arguments": ""}}]}
        for delta in ({"role": "assistant"}, {"content": ""}, {"content": None}, {}, None, empty):
            self.assertFalse(bears({"delta": delta, "finish_reason": "stop"}), delta)
        for payload in (b"[DONE]", b'{"choices":[],"usage":{}}', b'{"error":{}}', b"{", b"1"):
            self.assertFalse(answers.bears_tokens(payload), payload)


class Compare(unittest.TestCase):
    """Whole comparisons: a capture and a bundle whose stamps are off by a known time."""

    ORIGIN = 1_800_000_000_000_000_000

    def make(self, folder, off, n=50, probes=1, change=None):
        """n requests, 1 ms apart; the record's first token is `off(i)` late, its last 2 × that."""
        talk, records = Talk(), []
        reply = STREAM + chunk(event(content="a")), chunk(event(content="b")) + b"0\r\n\r\n"
        for probe in range(probes):
            talk.at(self.ORIGIN + probe * 100, POST.replace(b"3}", b"2}"), up=True)
            for part in reply:
                talk.at(self.ORIGIN + probe * 100 + 50, part)
        for i in range(n):
            sent = 1_000_000 * (i + 1)
            talk.at(self.ORIGIN + sent + 7000, POST, up=True)
            talk.at(self.ORIGIN + sent + 300_000, reply[0])
            talk.at(self.ORIGIN + sent + 500_000, reply[1])
            record = {
                "point": 0,
                "index": i,
                "phase": "warm_up" if i < 5 else "measured",
                "outcome": "ok",
                "sent_ns": sent,
                "connection": {"reused": i > 0 or probes > 0},
                # From the packets: 293 µs and 493 µs.
                "events": {"first_ns": sent + 293_000 + off(i), "gaps_ns": [200_000 + off(i)]},
                "output_tokens": {"target": 3},
                "bytes": {"sent": len(POST), "received": len(b"".join(reply))},
            }
            records.append(record)
        if change:
            change(records)
        # Records are journalled as requests end, in no order, and in several frames.
        random.Random(1).shuffle(records)
        frames = [records[: n // 2], records[n // 2 :]]
        with open(folder / "requests.jsonl.zst", "wb") as out:
            for part in frames:
                text = "".join(json.dumps(record) + "\n" for record in part).encode()
                out.write(subprocess.run(["zstd", "-cq"], input=text, capture_output=True, check=True).stdout)
        (folder / "x.pcap").write_bytes(pcap(talk.frames).getvalue())

    def compare(self, off, **options):
        """Exit code of the verdict, and the result; or what was refused."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            self.make(folder, off, **options)
            result = folder / "r.json"
            line = ["compare.py", "one", "--capture", str(folder / "x.pcap"), "--port", "8000", "--bundle", name]
            said = io.StringIO()
            with mock.patch("sys.argv", [*line, "--label", "l", "--json", str(result)]), mock.patch("sys.stderr", said):
                if compare.main():
                    return 2, said.getvalue()
            with mock.patch("sys.argv", ["compare.py", "summary", str(result)]), mock.patch("sys.stdout", said):
                return compare.main(), json.loads(result.read_text())

    def test_known_differences_are_found(self):
        code, result = self.compare(lambda i: 1000 * i)
        self.assertEqual(code, 0)
        ttft, e2e = result["figures"]["ttft"], result["figures"]["e2e"]
        # i is 5..49: nearest rank of 45 values.
        self.assertEqual((ttft["n"], ttft["median_abs_ns"], ttft["p99_abs_ns"], ttft["max_abs_ns"]), (45, 27000, 49000, 49000))
        self.assertEqual((e2e["median_signed_ns"], e2e["max_abs_ns"]), (54000, 98000))
        self.assertEqual((result["sent"]["max_abs_ns"], result["not_complete"]), (0, 0))
        self.assertEqual((result["spacing"]["n"], result["spacing"]["mean_ns"], result["spacing"]["cv"]), (44, 1e6, 0))

    def test_early_stamps_count_as_much_as_late_ones(self):
        self.assertEqual(self.compare(lambda i: -250_000)[0], 1)

    def test_limits(self):
        self.assertEqual(self.compare(lambda i: 99_999)[0], 0)
        self.assertEqual(self.compare(lambda i: 100_000)[0], 1, "a median of 0.2 ms end to end is not less than 0.2 ms")
        self.assertEqual(self.compare(lambda i: 500_000 if i == 30 else 0)[0], 0, "45 requests support no p99")

    def test_the_tail_is_judged_where_there_are_enough_samples(self):
        def judged(n, tail):
            return compare.within({"n": n, "median_abs_ns": 0, "p99_abs_ns": tail})

        self.assertTrue(judged(661, 1_000_000))
        self.assertFalse(judged(662, 1_000_000))
        self.assertTrue(judged(662, 999_999))

    def test_what_is_not_certain_is_refused(self):
        def changed(change, text):
            code, said = self.compare(lambda i: 0, change=change)
            self.assertEqual(code, 2)
            self.assertIn(text, said)

        changed(lambda records: records.pop(), "49 records do not fit 51 requests")
        changed(lambda records: records.append(dict(records[-1], sent_ns=10**9)), "tokens it asked")
        changed(lambda records: records[9].update(bytes={"sent": 1, "received": 1}), "request 9 of point 0: 1 bytes")
        changed(lambda records: records[9].update(connection={"reused": False}), "used before")
        changed(lambda records: records[49].update(sent_ns=90_000_000), "from the instant of its record")
        changed(lambda records: records[9]["events"].update(gaps_ns=[]), "1 token events by its record, 2 captured")

    def test_what_is_not_complete_is_counted_and_left_out(self):
        _, result = self.compare(lambda i: 0, change=lambda records: records[9].update(outcome="cut"))
        self.assertEqual((result["not_complete"], result["figures"]["e2e"]["n"]), (1, 44))

    def test_repeats_are_judged_by_their_median(self):
        with tempfile.TemporaryDirectory() as name:
            paths = []
            for number, median in enumerate([900_000, 100_000, 120_000]):
                row = dict.fromkeys(compare.describe([1]), median)
                result = {"label": "l", "measured": 1, "not_complete": 0, "figures": {"e2e": row}, "spacing": None}
                paths.append(Path(name, f"{number}.json"))
                paths[-1].write_text(json.dumps(result))
            for chosen, code in ((paths, 0), (paths[:1], 1)):
                with mock.patch("sys.argv", ["compare.py", "summary", *map(str, chosen)]), mock.patch("sys.stdout", io.StringIO()):
                    self.assertEqual(compare.main(), code)


if __name__ == "__main__":
    unittest.main()
