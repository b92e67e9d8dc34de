"""What is known of single programs: which of their options only read, which write, which run something else."""
