"""Usage and billing formats, one small module each, all held to the contract in `contract.py`."""
