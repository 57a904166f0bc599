"""The site's apps. Which may import which: `docs/architecture.md`, checked by the contracts in pyproject.toml."""
