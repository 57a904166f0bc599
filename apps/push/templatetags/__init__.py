"""Tags of the settings of devices."""
