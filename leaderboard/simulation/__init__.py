"""Boards with planted truth: what the statistics find where the answer is known."""
