"""Where the folders of this project are installed: all below ``olivine``.

The folders have names that other distributions use (PyPI has ``algorithms`` and
``solvers``), so only ``olivine.*`` is installed. The build happens in a temporary
folder: a ``build`` left here would bring deleted modules back, and ``pip`` needs no
``egg-info`` here.
"""

import atexit
import shutil
import tempfile

from setuptools import find_packages, setup

FOLDERS = ("cli", "reduction", "algorithms", "solvers")
build_base = tempfile.mkdtemp(prefix="olivine-build-")
atexit.register(shutil.rmtree, build_base, ignore_errors=True)
found = find_packages(include=[p for f in FOLDERS for p in (f, f"{f}.*")])

setup(
    packages=["olivine", *(f"olivine.{name}" for name in found)],
    package_dir={"olivine": "api", **{f"olivine.{f}": f for f in FOLDERS}},
    package_data={"olivine": ["py.typed"]},
    options={
        "build": {"build_base": build_base},
        "egg_info": {"egg_base": build_base},
    },
)
