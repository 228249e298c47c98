"""3-SAT in the multi-data-set oracle for one policy."""
