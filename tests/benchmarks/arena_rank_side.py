"""The other half of the Bradley-Terry benchmark; runs in an interpreter that has arena-rank 0.1.1.

    python arena_rank_side.py BATTLES.npz

reads first_K, second_K and won_K, fits arena-rank's model with its sandwich interval twice (each fit
compiles its own optimiser, so the second is what a warm process takes), and prints JSON.
"""

import json
import sys
import time

import numpy as np
import pandas as pd
from arena_rank.models.bradley_terry import BradleyTerry
from arena_rank.utils.data_utils import PairDataset


def timed_fit(dataset: PairDataset) -> tuple[float, float, dict]:
    """Return the seconds by the clock and by the CPU, and the result."""
    clock, cpu = time.perf_counter(), time.process_time()
    model = BradleyTerry(n_competitors=len(dataset.competitors), scale=1.0, base=np.e, init_rating=0.0)
    found = model.compute_ratings_and_cis(dataset)
    found = {name: np.asarray(found[name]).tolist() for name in ("competitors", "ratings", "variances")}
    return time.perf_counter() - clock, time.process_time() - cpu, found


def main() -> None:
    """Print the figures."""
    battles = np.load(sys.argv[1])
    winner = {1.0: "model_a", 0.5: "tie", 0.0: "model_b"}
    frame = pd.DataFrame(
        {
            "model_a": [f"{arm:04}" for arm in battles["first_K"]],
            "model_b": [f"{arm:04}" for arm in battles["second_K"]],
            "winner": [winner[won] for won in battles["won_K"]],
        }
    )
    began = time.perf_counter()
    dataset = PairDataset.from_pandas(frame)
    prepared = time.perf_counter() - began
    fits = [timed_fit(dataset) for _ in range(2)]
    print(
        json.dumps(
            {
                "prepare_seconds": prepared,
                "seconds": [clock for clock, _, _ in fits],
                "cpu_seconds": [cpu for _, cpu, _ in fits],
                **fits[-1][2],
            }
        )
    )


if __name__ == "__main__":
    main()
