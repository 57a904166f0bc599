"""The colours of generated avatars and headers: ground and tone."""

# A dark ground (contrast to white at least 7:1) and a lighter tone.
PALETTE = (
    ("#7A4A1E", "#E3B778"), ("#1F4E79", "#8FB7D9"), ("#2E6B5E", "#9BC8A8"), ("#4A4F1F", "#C9C77E"),
    ("#8C2F4B", "#E7A3A8"), ("#34495E", "#B7C4CF"), ("#6A3B6E", "#D3A9D6"), ("#235B6B", "#93C7D1"),
)  # fmt: skip
