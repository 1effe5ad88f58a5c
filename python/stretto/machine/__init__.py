"""What this machine is and can do: its profile, and the measurements behind it."""
