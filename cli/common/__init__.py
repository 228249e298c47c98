"""What the verbs share. Nothing here loads NumPy, so that ``--help`` stays fast."""
