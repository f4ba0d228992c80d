"""The pages of the leaderboard: with :mod:`leaderboard.app` the only modules that know Streamlit.

Not named `pages`: Streamlit would put every module of such a folder into its own navigation.
"""
