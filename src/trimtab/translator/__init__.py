"""A trained model ready to translate text: lines, lists, documents, or whole files as a stream."""

from trimtab.translator.exported import ExportedModel as ExportedModel
from trimtab.translator.exported import open_model as open_model
from trimtab.translator.generating import load_generator as load_generator
from trimtab.translator.generator import Generator as Generator
from trimtab.translator.load import LoadedModel as LoadedModel
from trimtab.translator.load import load_model as load_model
from trimtab.translator.tagged import Tagged as Tagged
from trimtab.translator.together import load_translator as load_translator
from trimtab.translator.translator import TextOutput as TextOutput
from trimtab.translator.translator import Translator as Translator
