"""Programs and the launchers that start them."""
