"""Pictures and pages, in one style."""
