"""Protocols in which the server never sees a true rating: messages, a client and a server each."""
