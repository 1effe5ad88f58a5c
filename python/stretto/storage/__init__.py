"""Arrays on disk: the container of streams, the files that the command reads and writes, and stretto as a filter of other tools' files."""
