"""What travels between the stages: ragged rows of ids, windows, packs, losses, step reports, and the protocols.

Words: a *window* is what one step consumes; a *batch* is one micro-batch of it, whatever its task; a *pack* is a batch
of text, two flat streams of tokens (source and target) without padding; a *segment* is one sentence inside a stream; a
*target* is a token that counts in the loss.
"""

from trimtab.flow.batch import Batch as Batch
from trimtab.flow.batch import fill as fill
from trimtab.flow.decoding import DecoderSession as DecoderSession
from trimtab.flow.decoding import FeedsAtOnce as FeedsAtOnce
from trimtab.flow.decoding import SearchesItself as SearchesItself
from trimtab.flow.decoding import Translates as Translates
from trimtab.flow.pack import IGNORE as IGNORE
from trimtab.flow.pack import Pack as Pack
from trimtab.flow.pack import Stream as Stream
from trimtab.flow.ragged import Ragged as Ragged
from trimtab.flow.step_report import LossOutput as LossOutput
from trimtab.flow.step_report import Refusal as Refusal
from trimtab.flow.step_report import StepReport as StepReport
from trimtab.flow.tokenizer import Tokenizer as Tokenizer
from trimtab.flow.train_state import TrainState as TrainState
from trimtab.flow.trainable_model import TrainableModel as TrainableModel
from trimtab.flow.window import DroppedExample as DroppedExample
from trimtab.flow.window import Window as Window
