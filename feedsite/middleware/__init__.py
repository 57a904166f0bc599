"""What every request passes on its way in and out, one concern a file; settings.MIDDLEWARE has the order."""
