"""What staff tell everybody."""
