"""What can be said of results, and how sure it is: scores, contrasts, ranks, rates, guards."""
