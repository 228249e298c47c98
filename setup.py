"""The root folder is the package ``olivine``; this says which folders belong to it.

The build happens in a temporary folder: a ``build`` left here would bring deleted
modules back, and ``pip`` needs no ``egg-info`` here.
"""

import atexit
import shutil
import tempfile

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

FOLDERS = ("cli", "claims", "reduction", "algorithms", "solvers")
build_base = tempfile.mkdtemp(prefix="olivine-build-")
atexit.register(shutil.rmtree, build_base, ignore_errors=True)
found = find_packages(include=[p for f in FOLDERS for p in (f, f"{f}.*")])


class BuildWithoutThisFile(build_py):
    """Leave setup.py out of the package in whose folder it lies."""

    def find_package_modules(self, package, package_dir):
        """List the modules of a package as (package, name, file)."""
        found = super().find_package_modules(package, package_dir)
        return [module for module in found if module[1] != "setup"]


setup(
    cmdclass={"build_py": BuildWithoutThisFile},
    packages=["olivine", *(f"olivine.{name}" for name in found)],
    package_dir={"olivine": "."},
    package_data={
        "olivine": ["py.typed"],
        "olivine.cli": ["schemas.json", "page.css", "play.html"],
    },
    options={"build": {"build_base": build_base}, "egg_info": {"egg_base": build_base}},
)
