"""discreet in other people's systems: one module for each, loaded when it is imported by name.

Each that is for a library needs an optional part of the installation, named like the module.
"""
