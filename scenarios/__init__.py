"""What is bargained over: terms, domains, private utilities, scenarios."""
