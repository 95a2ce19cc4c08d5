"""Values that every part shares: money, months, words of the field, errors. Standard library only."""
