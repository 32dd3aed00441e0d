"""Importers: what the clients store on disk becomes entries of the ledger."""
