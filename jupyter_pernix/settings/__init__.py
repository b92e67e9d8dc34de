"""How settings are read, checked and put together; ``config.py`` says which there are, and is the door that others use."""
