"""The audit: what of the log goes into the chained files, and the thread that writes them. ``jupyter_pernix.audit`` has the chain itself."""
