"""The families of MDPs that encode a formula."""
