"""Frequencies of the fundamental l = m = 2 mode of a ringing Kerr black hole, by Leaver's continued fractions
(E. W. Leaver, Proc. R. Soc. Lond. A 402 (1985) 285), as Chebyshev coefficients: the tables of rust/src/signal/quasinormal.rs. Prints them.

    python data/gravitational_waves/quasinormal.py

Needs nothing but Python.
"""

import math

S, M = -2, 2
LOWEST, HIGHEST = 0.04, math.sqrt(2)  # of u = sqrt(1 - spin)
TERMS = 20


def fraction(alpha, beta, gamma, terms):
    """beta_0 - alpha_0 gamma_1 / (beta_1 - alpha_1 gamma_2 / (...)), from its end."""
    value = 0
    for n in range(terms, 0, -1):
        value = alpha(n - 1) * gamma(n) / (beta(n) - value)
    return beta(0) - value


def angular(a, w, separation):
    k1, k2 = abs(M - S) / 2, abs(M + S) / 2
    c = a * w
    return fraction(
        lambda n: -2 * (n + 1) * (n + 2 * k1 + 1),
        lambda n: n * (n - 1)
        + 2 * n * (k1 + k2 + 1 - 2 * c)
        - (2 * c * (2 * k1 + S + 1) - (k1 + k2) * (k1 + k2 + 1))
        - (c * c + S * (S + 1) + separation),
        lambda n: 2 * c * (n + k1 + k2 + S),
        40,
    )


def radial(a, w, separation):
    b = math.sqrt(1 - 4 * a * a)
    k = (w / 2 - a * M) / b
    c0 = 1 - S - 1j * w - 2j * k
    c1 = -4 + 2j * w * (2 + b) + 4j * k
    c2 = S + 3 - 3j * w - 2j * k
    c3 = w * w * (4 + 2 * b - a * a) - 2 * a * M * w - S - 1 + (2 + b) * 1j * w - separation + (4 * w + 2j) * k
    c4 = S + 1 - 2 * w * w - (2 * S + 3) * 1j * w - (4 * w + 2j) * k
    return fraction(
        lambda n: n * n + (c0 + 1) * n + c0,
        lambda n: -2 * n * n + (c1 + 2) * n + c3,
        lambda n: n * n + (c2 - 3) * n + c4 - c2 + 2,
        2000 if abs(a) > 0.49 else 500,
    )


def newton(function, x):
    for _ in range(50):
        h = 1e-6 * (1 + abs(x))
        value = function(x)
        step = value / ((function(x + h) - function(x - h)) / (2 * h))
        x -= step
        if abs(step) < 1e-13:
            return x
    return x


def solve(spin, guess):
    """(w, A) of the mode in units 2 M = 1."""
    a, (w, separation) = spin / 2, guess

    def of_frequency(w):
        nonlocal separation
        separation = newton(lambda s: angular(a, w, s), separation)
        return radial(a, w, separation)

    w = newton(of_frequency, w)
    return w, separation


def modes(spins):
    """{spin: (M f, M f of damping)}: followed from 0 in both directions."""
    found = {}
    for side in (sorted(s for s in spins if s >= 0), sorted((s for s in spins if s < 0), reverse=True)):
        last, guess = 0.0, (0.7473433689 - 0.1779246315j, 4.0)
        for spin in side:
            for i in range(1, 9):
                guess = solve(last + (spin - last) * i / 8, guess)
            last = spin
            w = guess[0] / 2
            found[spin] = (w.real / (2 * math.pi), -w.imag / (2 * math.pi))
    return found


def spin_at(x):
    return 1 - (0.5 * (HIGHEST + LOWEST) + 0.5 * (HIGHEST - LOWEST) * x) ** 2


def main():
    nodes = [math.cos(math.pi * (j + 0.5) / TERMS) for j in range(TERMS)]
    tests = [math.cos(math.pi * (j + 0.77) / 40) for j in range(40)]
    values = modes([spin_at(x) for x in nodes + tests])
    for part, name in enumerate(("FREQUENCY", "DAMPING")):
        at_nodes = [values[spin_at(x)][part] for x in nodes]
        coefficients = [
            2 / TERMS * sum(v * math.cos(math.pi * k * (j + 0.5) / TERMS) for j, v in enumerate(at_nodes))
            for k in range(TERMS)
        ]
        coefficients[0] /= 2

        def polynomial(x):
            return sum(c * math.cos(k * math.acos(x)) for k, c in enumerate(coefficients))

        worst = max(abs(polynomial(x) / values[spin_at(x)][part] - 1) for x in tests)
        print(f"// Relative error at most {worst:.1e}.\nconst {name}: [f64; {TERMS}] = [")
        for c in coefficients:
            print(f"    {c:.12e},")
        print("];")


if __name__ == "__main__":
    main()
