"""stretto: measure a machine, predict collectives on it, choose among them, and explain the choice.

The command is `stretto` (or `python -m stretto`); the measuring and the model are C++ programs that it starts.
"""

__version__ = "0.1.0"
