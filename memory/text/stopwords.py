"""English words that say how a question is put, not what it is about."""

from typing import Final

__all__ = ["STOP_WORDS"]

# Function and question words, and what an apostrophe leaves of them ("don't" is don and t).
# Names and nouns that look alike (may, will, us, mine) are left in where a search may mean them.
_WORDS: Final = """
    a an the
    i me my myself we our ours ourselves you your yours yourself yourselves he him his himself
    she her hers herself it its itself they them their theirs themselves
    this that these those here there
    am is are was were be been being isn aren wasn weren ain
    do does did doing done don doesn didn
    have has had having haven hasn hadn
    can could couldn shall should shouldn would wouldn won mustn needn might mightn
    what which who whom whose when where why how
    and but or nor if then else than because as until while although though whether
    of at by for with about against between into through during to from in on onto upon
    again further once also too very just only so such not no
    some any each few more most other both all own same
    s t d m ll re ve
    please let lets
"""
STOP_WORDS: Final = frozenset(_WORDS.split())
