"""Lists to read and circles to post to: named groups of accounts, in the hands of their owner."""
