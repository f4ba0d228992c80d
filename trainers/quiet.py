"""Keeping what the libraries of training print for their developers off a user's terminal."""

import os
import warnings


def hush() -> None:
    """Turn off, in this process, progress bars of fractions of a second and advice that no user can
    follow: names that these libraries no longer like in each other, notices of experiments.

    What really goes wrong is raised, or looked for by this project itself. Bars of downloads stay.
    """
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    import datasets
    import transformers

    datasets.disable_progress_bars()
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    warnings.filterwarnings("ignore", category=FutureWarning, module=r"(transformers|trl|accelerate)\b")
