"""`arena` as its console script starts it, for tests that run it as a process of its own."""

if __name__ == "__main__":
    from arena.cli import app

    app()
