"""One append-only ledger that several coding agents share."""
