"""What the record says: statistics, boards, pages."""
