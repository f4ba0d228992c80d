"""What all tests share."""

from hypothesis import HealthCheck, settings

# No test is failed for its time: a machine may be busy.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")
