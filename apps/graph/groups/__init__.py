"""Named groups of accounts: lists to read, and circles to post to."""
