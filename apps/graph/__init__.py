"""Follows, blocks, mutes, lists and circles."""
