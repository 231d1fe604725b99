"""A trained model ready to translate text: lines, lists, documents, or whole files as a stream."""

from trimtab.inference.exported import ExportedModel as ExportedModel
from trimtab.inference.exported import open_model as open_model
from trimtab.inference.generating import load_generator as load_generator
from trimtab.inference.generator import Generator as Generator
from trimtab.inference.load import LoadedModel as LoadedModel
from trimtab.inference.load import load_model as load_model
from trimtab.inference.tagged import Tagged as Tagged
from trimtab.inference.together import load_translator as load_translator
from trimtab.inference.translator import TextOutput as TextOutput
from trimtab.inference.translator import Translator as Translator
