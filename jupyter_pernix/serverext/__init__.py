"""The server extension: the one place that knows tornado, DuckDB and the Jupyter server, and wires everything else together."""
