"""What feedsite is measured and tried with; no part of the site imports it."""
