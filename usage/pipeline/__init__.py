"""How a delivery becomes records: read, staged, compared, written, rolled up. Everything visible in one transaction."""
