"""Protocols: people send messages that hide their ratings, and a server builds releases from them.

`servers` and `clients` list the protocols, each side by itself: a service never loads a client.
"""
