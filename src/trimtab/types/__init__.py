"""Data that passes between the stages: ragged rows of ids, windows, packs, losses, step reports, and the protocols.

Words: a *window* is what one step consumes; a *batch* is one micro-batch of it, whatever its task; a *pack* is a batch
of text, two flat streams of tokens (source and target) without padding; a *segment* is one sentence inside a stream; a
*target* is a token that counts in the loss.
"""

from trimtab.types.batch import Batch as Batch
from trimtab.types.batch import LeavesWeightsOut as LeavesWeightsOut
from trimtab.types.batch import TensorBatch as TensorBatch
from trimtab.types.batch import fill as fill
from trimtab.types.decoding import CutsOutput as CutsOutput
from trimtab.types.decoding import DecoderSession as DecoderSession
from trimtab.types.decoding import FeedsAtOnce as FeedsAtOnce
from trimtab.types.decoding import SearchesItself as SearchesItself
from trimtab.types.decoding import Translates as Translates
from trimtab.types.directed_batch import DirectedBatch as DirectedBatch
from trimtab.types.global_batch import DroppedExample as DroppedExample
from trimtab.types.global_batch import GlobalBatch as GlobalBatch
from trimtab.types.packed_batch import IGNORE as IGNORE
from trimtab.types.packed_batch import PackedBatch as PackedBatch
from trimtab.types.packed_batch import Stream as Stream
from trimtab.types.packed_batch import TokenLinks as TokenLinks
from trimtab.types.ragged import Ragged as Ragged
from trimtab.types.step_report import LossOutput as LossOutput
from trimtab.types.step_report import SkipReason as SkipReason
from trimtab.types.step_report import StepReport as StepReport
from trimtab.types.step_report import TrainState as TrainState
from trimtab.types.tokenizer import Tokenizer as Tokenizer
from trimtab.types.trainable_model import HasComponents as HasComponents
from trimtab.types.trainable_model import TrainableModel as TrainableModel
