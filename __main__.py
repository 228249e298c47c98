"""``python -m olivine`` is the command ``olivine``."""

from .cli.entry import main

if __name__ == "__main__":
    main()
