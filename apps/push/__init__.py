"""Web Push: notifications on devices whose pages are closed, and what these devices keep for when they are offline."""
