"""Linear programs: HiGHS proposes, rational arithmetic confirms."""
