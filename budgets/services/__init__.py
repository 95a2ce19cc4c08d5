"""Changes to lines, the ledger, proposals and their approval; each subject has its module."""
