"""Commands that Django brings, as this site needs them."""
