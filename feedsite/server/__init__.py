"""Between granian and Django: requests are read to their end before they take a thread."""
