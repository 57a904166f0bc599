"""What members report to staff."""
