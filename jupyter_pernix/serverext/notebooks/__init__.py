"""Open notebooks: who holds one now, and how it is read and changed through whoever does."""
