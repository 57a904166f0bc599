"""Tags of the pages of the weekly mail."""
