"""What no meter sees, booked by hand: invoices, journal lines, what comes every month. See docs/bookings.md."""
