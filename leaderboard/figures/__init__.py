"""What is drawn: Altair charts, and the colours and marks they share."""
