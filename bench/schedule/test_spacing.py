"""Judging a schedule. Run: python3 -m unittest discover -s bench/schedule"""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from spacing import judge, variation

MS = 1_000_000


def records(lags_ns):
    return [{"intended_ns": k * MS, "dispatched_ns": k * MS + lag} for k, lag in enumerate(lags_ns)]


class Judging(unittest.TestCase):
    def test_a_schedule_that_is_kept(self):
        found = judge(records([20_000] * 1_000))
        self.assertEqual((found.requests, found.cv, found.lag_p99_ms, found.missed()), (1_000, 0.0, 0.02, []))

    def test_the_variation_is_that_of_the_gaps(self):
        # Gaps of 1, 3, 1, 3: mean 2, sample standard deviation √(4/3).
        self.assertAlmostEqual(variation([0, 1, 4, 5, 8]), (4 / 3) ** 0.5 / 2)

    def test_each_limit_is_told_by_itself(self):
        even_but_late = judge(records([400_000] * 1_000))
        self.assertEqual([words.split()[0] for words in even_but_late.missed()], ["p99"])
        jittery = judge(records([0, 100_000] * 500))
        self.assertEqual([words.split()[0] for words in jittery.missed()], ["coefficient"])

    def test_of_the_lag_the_worst_hundredth_is_left_out(self):
        self.assertEqual(judge(records([0] * 990 + [900_000] * 10)).lag_p99_ms, 0.0)
        self.assertEqual(judge(records([0] * 989 + [900_000] * 11)).lag_p99_ms, 0.9)

    def test_what_was_never_dispatched_is_no_schedule_kept(self):
        with self.assertRaises(ValueError):
            judge([*records([0] * 10), {"intended_ns": 10 * MS}])
        with self.assertRaises(ValueError):
            judge([])


if __name__ == "__main__":
    unittest.main()
