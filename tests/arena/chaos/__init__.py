"""Tournaments that are disturbed at play; Ray's are in `tests/arena/tournament/test_on_ray.py`."""
