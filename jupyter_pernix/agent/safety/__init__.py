"""What was there before is kept, and put back when the user wants it: copies of files, commits of a repository, and the restoring."""
