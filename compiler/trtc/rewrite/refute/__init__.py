"""Refutation: random instances of a rule, both sides computed, the smallest difference shown.

A rule holds where, on every instance that satisfies pattern and guards, the right side's error stays within a small
factor of the left's own (`compare`). An instance is a piece of graph made from the pattern itself (`sketch`): choices
by a tape of decisions (`tape`), shapes by the test block or the types (`shapes`, `leaves`), constants by the numbers of
the rule. The engine rewrites it, so that matcher, guards and builder are what is tested.
"""
