"""``python -m leaderboard.warm run FILE ...``: Streamlit's command line, with the board's modules
imported before the first reader comes, who would wait a second for them."""

from importlib import import_module
from runpy import run_module

if __name__ == "__main__":
    import_module("leaderboard.views.standings")
    run_module("streamlit", run_name="__main__", alter_sys=True)
