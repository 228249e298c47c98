"""Trajectories that each theorem asks for, against H, M, K and ε: a figure.

Run from the project's folder::

    python -m benchmarks.trajectories docs/trajectories.svg

Counts are the proofs' own sums, exact integers; nothing is run. Constants are
corrected where an erratum applies. Classes have 2^20 members (Q-functions for
LSVEE and OLIVE); squared losses count pairs of functions. PSDP stands for what
explores by uniform actions: K^H.
"""

import argparse
import math
from pathlib import Path

import numpy as np
from olivine.algorithms.baselines import theorem_parameters as baseline
from olivine.algorithms.global_policy import GlobalPolicyTheoremParameters
from olivine.algorithms.lsvee import LsveeTheorem
from olivine.algorithms.olive.parameters import trajectory_bound as olive_bound
from olivine.algorithms.two_sample import TwoSampleTheoremParameters
from olivine.algorithms.valor.parameters import CONSTRAINED, VALOR, TheoremParameters
from olivine.cli.figures.files import column, look, style, write_figure

BITS = 20
DELTA = 0.1
BASE = {"H": 5, "M": 3, "K": 4, "eps": 0.1}
AXES = {
    "H": range(1, 31),
    "M": range(1, 31),
    "K": range(2, 31),
    "eps": np.geomspace(0.01, 0.5, 25).tolist(),
}


def counts(*, H, M, K, eps):
    """Trajectories of each algorithm, by name."""
    log_size = BITS * math.log(2)
    sizes = (eps, DELTA, M, K, H, log_size, log_size)
    psdp = baseline("psdp", eps, DELTA, M=M, K=K, H=H, log_Pi=log_size)
    return {
        "valor": TheoremParameters(*sizes, VALOR).trajectory_bound,
        "valor-constrained": TheoremParameters(*sizes, CONSTRAINED).trajectory_bound,
        "two-sample": TwoSampleTheoremParameters(*sizes).trajectory_bound,
        "global-policy": GlobalPolicyTheoremParameters(*sizes).trajectory_bound,
        "lsvee": LsveeTheorem(eps, DELTA, M, K, H, 2**BITS).trajectory_bound,
        "olive": olive_bound(eps, DELTA, M, K, H, log_size),
        "psdp": psdp.trajectory_bound,
    }


def draw(path):
    """Draw a panel for each of H, M, K and ε."""
    with style():
        drawing, axes = column(5.6, 2, 2, share=True)
        for axis, (key, values) in zip(axes, AXES.items(), strict=True):
            found = [counts(**BASE | {key: value}) for value in values]
            for name in found[0]:
                line = [float(count[name]) for count in found]
                colour, marker, dashes = look(name)
                every = max(1, len(line) // 6)
                axis.plot(
                    values, line, color=colour, linestyle=dashes, label=name,
                    marker=marker, ms=4, markevery=every,
                )  # fmt: skip
            axis.set_yscale("log")
            axis.set_xlabel("ε (logarithmic)" if key == "eps" else key)
            axis.grid(visible=True, color="#e5e5e5", linewidth=0.6)
            if key == "eps":
                axis.set_xscale("log")
            else:
                axis.axvline(BASE[key], color="#bbbbbb", linewidth=0.8, zorder=0)
        # PSDP's K^H would dwarf the others at H = 30.
        axes[0].set_ylim(1e3, 1e45)
        drawing.supylabel("trajectories: the proof's upper bound", fontsize=9)
        handles, labels = axes[0].get_legend_handles_labels()
        drawing.legend(handles, labels, loc="outside lower center", ncols=3)
        drawing.suptitle(
            "Otherwise (grey) H = 5, M = 3, K = 4, ε = 0.1, δ = 0.1; classes of 2²⁰",
            fontsize=9,
        )
        write_figure(path, drawing)


def main():
    """Read the argument, draw, and print the counts at the base point."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("figure", type=Path)
    draw(parser.parse_args().figure)
    for name, count in counts(**BASE).items():
        print(f"{name:18} {count:.2e}")


if __name__ == "__main__":
    main()
