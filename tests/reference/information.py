"""Slow twins of the information content of answers: every tuple of classes is looked at."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import product


def mutual_information(shares, n_rows, answer_of, answers, noise):
    """I(Y; l) in bits by its definition, a wrong answer being any other one, each equally likely."""
    joint = defaultdict(float)
    for classes in product(range(len(shares)), repeat=n_rows):
        chance = math.prod(shares[c] for c in classes)
        for answer in answers:
            right = answer == answer_of(classes)
            joint[classes, answer] += chance * (1 - noise if right else noise / (len(answers) - 1))
    of_classes, of_answer = defaultdict(float), defaultdict(float)
    for (classes, answer), chance in joint.items():
        of_classes[classes] += chance
        of_answer[answer] += chance
    return sum(
        chance * math.log2(chance / (of_classes[classes] * of_answer[answer]))
        for (classes, answer), chance in joint.items()
        if chance > 0
    )


def pair_answer(classes):
    return classes[0] == classes[1]


def triplet_answer(classes):
    a, b, c = classes
    for name, together, odd in (("AB", a == b, c != a), ("AC", a == c, b != a), ("BC", b == c, a != b)):
        if together and odd:
            return name
    return "NEITHER"


def pair_information(shares, noise=0.0):
    return mutual_information(shares, 2, pair_answer, (True, False), noise)


def triplet_information(shares, noise=0.0):
    return mutual_information(shares, 3, triplet_answer, ("AB", "AC", "BC", "NEITHER"), noise)
