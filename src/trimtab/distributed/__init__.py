"""Several processes that train one model: what they add up, and what each of them does by itself.

Words: a *rank* is the number of a process, from 0; the *world size* is how many there are. The first rank writes.
"""

from trimtab.distributed.ranks import ONE_RANK as ONE_RANK
from trimtab.distributed.ranks import OneRank as OneRank
from trimtab.distributed.ranks import Ranks as Ranks
from trimtab.distributed.ranks import SumsByComponent as SumsByComponent
