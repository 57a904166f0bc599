"""Who follows, blocks and mutes whom."""
