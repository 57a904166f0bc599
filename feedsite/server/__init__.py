"""The adapter between granian and Django: requests are complete before they take a thread."""
