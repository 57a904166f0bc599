"""The site's apps. `docs/architecture.md` shows which may import which; contracts in pyproject.toml enforce it."""
