"""Web Push: notifications on devices while the site is closed, and a page that devices show when they are offline."""
