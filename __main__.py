"""``python -m olivine`` is the command ``olivine``.

Python puts the current folder first on the path; there a file ``random.py`` or
``types.py`` would be run in place of the library's.
"""

import os
import sys

if __name__ == "__main__" and sys.path[:1] in ([""], [os.getcwd()]):
    sys.path.append(sys.path.pop(0))

from .cli.entry import main

if __name__ == "__main__":
    main()
