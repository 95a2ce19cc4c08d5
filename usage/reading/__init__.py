"""From bytes to values: unpacking, records, headers, numbers, times. Knows no database."""
