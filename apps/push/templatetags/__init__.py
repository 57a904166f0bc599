"""Template tags of the device settings."""
