"""The servers Headroom brings along: PostgreSQL and Valkey from wheels, each in a module of its own."""
