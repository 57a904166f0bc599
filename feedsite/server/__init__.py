"""What the servers need: the adapter between granian and Django, what processes import once, and beat's clock."""
